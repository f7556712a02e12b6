// SPDX-License-Identifier: Apache-2.0
// The one exception of the engines: a runtime error code and a sentence.
#pragma once

#include "toolkit/engine/export.h"

#include "toolkit/include/driver_types.h"

#include <exception>
#include <string>
#include <utility>

namespace musa_standin::engine {

class MUSA_ENGINE_API Error : public std::exception {
 public:
  explicit Error(musaError_t code) : code_(code) {}
  Error(musaError_t code, std::string what)
      : code_(code), what_(std::move(what)) {}

  // An error that a task left behind; `task` lives as long as the process.
  Error(musaError_t code, std::string what, const char* task)
      : code_(code), what_(std::move(what)), task_(task) {}

  [[nodiscard]] musaError_t code() const noexcept { return code_; }
  [[nodiscard]] const char* what() const noexcept override;
  // Name of the task that failed, or null.
  [[nodiscard]] const char* task() const noexcept { return task_; }

 private:
  musaError_t code_;
  std::string what_;
  const char* task_ = nullptr;
};

// "musaErrorInvalidValue" and "invalid argument"; for every number.
MUSA_ENGINE_API const char* error_name(musaError_t code) noexcept;
MUSA_ENGINE_API const char* error_text(musaError_t code) noexcept;

// Errors after which the device refuses all work until it is reset.
MUSA_ENGINE_API bool is_sticky(musaError_t code) noexcept;

} // namespace musa_standin::engine
