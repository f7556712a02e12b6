// SPDX-License-Identifier: Apache-2.0
// The end of the engine.
#include "toolkit/engine/cpu/exit.h"

#include "toolkit/engine/cpu/device.h"
#include "toolkit/engine/cpu/scheduler.h"
#include "toolkit/engine/cpu/start.h"
#include "toolkit/engine/export.h"

#include <cstdlib>

extern "C" MUSA_ENGINE_API int
musa_leak_at_exit(void (*destroy)(void*), void* object, void* library);

// oneDNN's __cxa_atexit.  It makes objects on first use, in the middle of a
// task, and the exit destroys those before it calls any handler that was there
// earlier: a task that still runs then crashes.  So they are never destroyed.
extern "C" int musa_leak_at_exit(
    void (* /*destroy*/)(void*),
    void* /*object*/,
    void* /*library*/) {
  return 0;
}

namespace musa_standin::engine::cpu {
namespace {

void stop_at_exit() {
  stop_engine();
}

} // namespace

void arm_exit() {
  std::atexit(&stop_at_exit);
}

void stop_engine() noexcept {
  const uint32_t before = g_gate.fetch_or(kGateStopped);
  if ((before & kGateForked) != 0 || !engine_started()) {
    return; // none of the parent's threads are here
  }
  stream_table().for_each([](Stream& stream) { stream.wake_all_watchers(); });
  g_scheduler.stop();
}

} // namespace musa_standin::engine::cpu
