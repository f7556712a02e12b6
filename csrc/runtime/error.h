// SPDX-License-Identifier: Apache-2.0
// From a musaError_t to a c10 exception or a warning.
#pragma once

#include "csrc/runtime/export.h"

#include <c10/macros/Macros.h>
#include <c10/util/Exception.h>

#include <musa_runtime.h>

#include <string>

namespace torch_fl::runtime {

// Throws c10::Error (c10::OutOfMemoryError for musaErrorMemoryAllocation) with
// the expression, the error's name, text and code, and the current device.
// Clears the thread's last error. In a forked child it says that instead.
[[noreturn]] FL_API void
raise(musaError_t code, const char* expression, const char* file, int line);

// Throws the one sentence about forked children.
[[noreturn]] FL_API void raise_bad_fork();

// The same text as a warning; for destructors and noexcept overrides. Silent
// while the runtime is going down.
FL_API void warn(musaError_t code, const char* expression) noexcept;

// A warning that cannot throw.
FL_API void warn_text(const std::string& text) noexcept;

// True if the call failed only because the runtime was already stopped.
FL_API bool is_shutdown(musaError_t code) noexcept;

} // namespace torch_fl::runtime

#define FL_MUSA_CHECK(expression)                    \
  do {                                               \
    const musaError_t fl_musa_code = (expression);   \
    if (C10_UNLIKELY(fl_musa_code != musaSuccess)) { \
      ::torch_fl::runtime::raise(                    \
          fl_musa_code,                              \
          #expression,                               \
          __FILE__,                                  \
          __LINE__);                                 \
    }                                                \
  } while (false)

#define FL_MUSA_WARN(expression)                            \
  do {                                                      \
    const musaError_t fl_musa_code = (expression);          \
    if (C10_UNLIKELY(fl_musa_code != musaSuccess)) {        \
      ::torch_fl::runtime::warn(fl_musa_code, #expression); \
    }                                                       \
  } while (false)
