// SPDX-License-Identifier: Apache-2.0
// The flag of a forked child.
#include "toolkit/engine/cpu/fork.h"

#include "toolkit/engine/fault.h"
#include "toolkit/engine/thread_state.h"

#include <pthread.h>

namespace musa_standin::engine::cpu {

// No handler before the fork and no lock: a child needs nothing of the engine
// but to know that it is one.
void watch_fork() {
  if (planted("unnoticed_fork")) {
    return;
  }
  pthread_atfork(nullptr, nullptr, [] { g_gate.fetch_or(kGateForked); });
}

} // namespace musa_standin::engine::cpu
