// SPDX-License-Identifier: Apache-2.0
// Owner of a vendor handle: move-only, its destructor reports and never throws.
#pragma once

#include "csrc/runtime/error.h"

#include <utility>

namespace torch_fl::runtime {

// destroy is a function of the vendor's library: musaError_t(Handle).
template <class Handle, musaError_t (*destroy)(Handle)>
class UniqueHandle {
 public:
  UniqueHandle() = default;
  explicit UniqueHandle(Handle handle) noexcept : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept
      : handle_(std::exchange(other.handle_, Handle{})) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) {
      reset(std::exchange(other.handle_, Handle{}));
    }
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  [[nodiscard]] Handle get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != Handle{}; }
  [[nodiscard]] Handle release() noexcept {
    return std::exchange(handle_, Handle{});
  }
  void reset(Handle handle = Handle{}) noexcept {
    if (handle_ != Handle{}) {
      FL_MUSA_WARN(destroy(handle_));
    }
    handle_ = handle;
  }

 private:
  Handle handle_{};
};

} // namespace torch_fl::runtime
