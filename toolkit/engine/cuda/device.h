// SPDX-License-Identifier: Apache-2.0
// One device: its default streams, what CUDA says of it, its first error.
#pragma once

#include "toolkit/engine/cuda/device_error.h"
#include "toolkit/engine/cuda/stream.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace musa_standin::engine::cuda {

class Device {
 public:
  explicit Device(int index);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] Stream& legacy() const { return *legacy_; }
  // Stands for the calling thread's, whichever thread that is.
  [[nodiscard]] Stream& per_thread() const { return *per_thread_; }
  [[nodiscard]] int multiprocessors() const { return multiprocessors_; }

  // --- errors ---
  [[nodiscard]] DeviceError* error_slot() {
    DeviceError* slot = slot_.load(std::memory_order_acquire);
    return __builtin_expect(slot != nullptr, 1) ? slot : make_error_slot();
  }
  void keep_error(musaError_t code, const char* what, const char* task);
  // Takes what kernels reported, then throws the first error; one that is not
  // sticky is forgotten then.
  void throw_error();
  [[nodiscard]] musaError_t sticky() const {
    return static_cast<musaError_t>(sticky_.load(std::memory_order_acquire));
  }
  [[nodiscard]] const char* failed_task();

 private:
  DeviceError* make_error_slot();
  void take_reported();

  const int index_;
  Stream* legacy_;
  Stream* per_thread_;
  int multiprocessors_ = 0;

  std::mutex error_mutex_;
  std::atomic<DeviceError*> slot_{nullptr};
  std::atomic<bool> has_error_{false};
  std::atomic<int> sticky_{0};
  musaError_t error_ = musaSuccess;
  std::string error_what_;
  const char* error_task_ = "";
};

// Starts the engine and the device on first use.
Device& device(int index);
// Null if it was never used.
Device* device_if_started(int index) noexcept;
// The one that CUDA has as the calling thread's.
Device* current_device_if_started() noexcept;

} // namespace musa_standin::engine::cuda
