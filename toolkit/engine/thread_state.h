// SPDX-License-Identifier: Apache-2.0
// What the API libraries share: the thread's state and the gate of every call.
#pragma once

#include "toolkit/engine/error.h"
#include "toolkit/engine/export.h"

#include "toolkit/include/driver_types.h"

#include <atomic>
#include <cstdint>

namespace musa_standin::engine {

struct ThreadState {
  int device;
  musaError_t last_error;
  bool in_host_function;
  // Task behind the thread's last failing call; never null once set.
  const char* failed_task;
};

// Plain data of the static TLS block: one load to reach.
extern MUSA_ENGINE_API __thread ThreadState t_state
    __attribute__((tls_model("initial-exec")));

// Reasons for a call to take the slow road; zero in the common case.
enum Gate : uint32_t {
  kGateStopped = 1,
  kGateForked = 2,
  kGateTrace = 4,
  kGateSticky = 8,
};
extern MUSA_ENGINE_API std::atomic<uint32_t> g_gate;

// May a device call of this thread go on?  musaSuccess, or the reason why not:
// MusartUnloading, InitializationError in a forked child, NotPermitted in a
// host function, or the current device's sticky error.
MUSA_ENGINE_API musaError_t admit_slow() noexcept;
inline musaError_t admit() noexcept {
  if (__builtin_expect(
          g_gate.load(std::memory_order_relaxed) == 0 &&
              !t_state.in_host_function,
          1)) {
    return musaSuccess;
  }
  return admit_slow();
}

// The same for calls that touch no device's work, which a device's sticky
// error does not stop.
MUSA_ENGINE_API musaError_t admit_lifetime() noexcept;

// Keep what a failing call reports on this thread.
MUSA_ENGINE_API void set_failure(musaError_t code) noexcept;
MUSA_ENGINE_API void set_failure(const Error& error) noexcept;

// The sentence of this thread's last failing call.
MUSA_ENGINE_API const char* last_message() noexcept;

// One line on stderr for MUSA_TRACE=1.
MUSA_ENGINE_API void trace_call(const char* name, musaError_t code) noexcept;

} // namespace musa_standin::engine
