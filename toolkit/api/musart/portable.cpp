// SPDX-License-Identifier: Apache-2.0
// The portable toolkit's own functions.
#include "toolkit/engine/runtime.h"

#include "toolkit/include/musa_portable.h"

namespace engine = musa_standin::engine;

int musaPortableAbi(void) {
  return MUSA_PORTABLE_ABI;
}

const char* musaPortableEngine(void) {
  return engine::runtime().engine_name();
}

unsigned long long musaPortableCounter(const char* name) {
  return name != nullptr ? engine::runtime().counter(name) : 0;
}

void musaPortableStop(void) {
  engine::runtime().stop();
}

const char* musaPortableFailedTask(void) {
  return engine::t_state.failed_task;
}

const char* musaPortableLastMessage(void) {
  return engine::last_message();
}
