// SPDX-License-Identifier: Apache-2.0
// The thread's state, the gate of every call, and the trace.
#include "toolkit/engine/thread_state.h"

#include "toolkit/engine/fault.h"
#include "toolkit/engine/runtime.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace musa_standin::engine {

__thread ThreadState t_state
    __attribute__((tls_model("initial-exec"))) = {0, musaSuccess, false, ""};

namespace {

uint32_t initial_gate() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read while the library loads
  const char* trace = std::getenv("MUSA_TRACE");
  const bool on =
      trace != nullptr && *trace != '\0' && std::strcmp(trace, "0") != 0;
  return on ? static_cast<uint32_t>(kGateTrace) : 0U;
}

// Plain bytes: usable while the thread, or the process, ends.
thread_local char t_message[320];

} // namespace

std::atomic<uint32_t> g_gate{initial_gate()};

musaError_t admit_lifetime() noexcept {
  const uint32_t gate = g_gate.load(std::memory_order_relaxed);
  if ((gate & kGateForked) != 0) {
    return musaErrorInitializationError;
  }
  if ((gate & kGateStopped) != 0) {
    return musaErrorMusartUnloading;
  }
  return t_state.in_host_function ? musaErrorNotPermitted : musaSuccess;
}

musaError_t admit_slow() noexcept {
  const musaError_t code = admit_lifetime();
  if (code != musaSuccess) {
    return code;
  }
  const uint32_t gate = g_gate.load(std::memory_order_relaxed);
  return (gate & kGateSticky) != 0 ? runtime().sticky_error(t_state.device)
                                   : musaSuccess;
}

void set_failure(musaError_t code) noexcept {
  t_state.last_error = code;
  // Calls that a sticky error refuses name its task too.
  t_state.failed_task =
      is_sticky(code) ? runtime().failed_task(t_state.device) : "";
  std::snprintf(
      t_message,
      sizeof t_message,
      "%s%s%s",
      t_state.failed_task,
      *t_state.failed_task != '\0' ? ": " : "",
      error_text(code));
}

void set_failure(const Error& error) noexcept {
  if (planted("no_last_error")) {
    return;
  }
  t_state.last_error = error.code();
  t_state.failed_task = error.task() != nullptr ? error.task() : "";
  std::snprintf(t_message, sizeof t_message, "%s", error.what());
}

const char* last_message() noexcept {
  return t_message;
}

void trace_call(const char* name, musaError_t code) noexcept {
  char line[160];
  const int length = std::snprintf(
      line,
      sizeof line,
      "[musa] %s -> %s (device %d)\n",
      name,
      error_name(code),
      t_state.device);
  if (length > 0) {
    const auto bytes = static_cast<size_t>(length);
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, line, bytes < sizeof line ? bytes : sizeof line);
  }
}

} // namespace musa_standin::engine
