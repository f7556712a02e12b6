// SPDX-License-Identifier: Apache-2.0
// Turns musart's codes into exceptions and warnings.
#include "csrc/runtime/error.h"

#include "csrc/runtime/fork.h"
#include "csrc/runtime/thread_state.h"
#include "csrc/runtime/toolkit.h"

#include <c10/core/Device.h>

#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>

namespace torch_fl::runtime {
namespace {

// The part of an expression before its arguments: the function's name.
std::string function_of(const char* expression) {
  const std::string text(expression);
  return text.substr(0, text.find('('));
}

std::string describe(musaError_t code, const char* expression) {
  // Before any other call of the toolkit.
  const std::string message = toolkit_message();
  std::ostringstream text;
  text << function_of(expression)
       << " failed on flagos:" << static_cast<int>(thread_state.device) << ": "
       << musaGetErrorName(code) << " (" << static_cast<int>(code) << "), "
       << (message.empty() ? musaGetErrorString(code) : message.c_str());
  return text.str();
}

} // namespace

bool is_shutdown(musaError_t code) noexcept {
  return code == musaErrorMusartUnloading;
}

void raise_bad_fork() {
  TORCH_CHECK(
      false,
      "flagos cannot be used in this forked process because its parent had "
      "already used it: start workers with the 'spawn' or 'forkserver' method "
      "of multiprocessing.");
}

void raise(
    musaError_t code,
    const char* expression,
    const char* file,
    int line) {
  if (is_in_bad_fork()) {
    raise_bad_fork();
  }
  if (is_shutdown(code)) {
    TORCH_CHECK(
        false,
        "flagos cannot be used any more: its runtime was stopped when the "
        "process began to exit (",
        function_of(expression),
        ").");
  }
  const std::string text = describe(code, expression);
  // The error has been reported: it must not come up again in a later call.
  static_cast<void>(musaGetLastError());
  if (code == musaErrorMemoryAllocation) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "flagos out of memory: ", text);
  }
  TORCH_CHECK(false, text, " [", file, ":", line, "]");
}

void warn(musaError_t code, const char* expression) noexcept {
  if (is_shutdown(code) || is_in_bad_fork()) {
    return;
  }
  static_cast<void>(musaGetLastError());
  try {
    warn_text(describe(code, expression));
  } catch (const std::bad_alloc&) {
    std::fputs("flagos: an error could not be described.\n", stderr);
  }
}

void warn_text(const std::string& text) noexcept {
  try {
    TORCH_WARN(text);
  } catch (const std::exception&) {
    // Warnings are errors here, and none may leave.
    std::fprintf(stderr, "flagos: %s\n", text.c_str());
  }
}

} // namespace torch_fl::runtime
