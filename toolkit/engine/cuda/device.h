// SPDX-License-Identifier: Apache-2.0
// One device: its default streams, its first error, its settings, its reset.
#pragma once

#include "toolkit/engine/cuda/device_error.h"
#include "toolkit/engine/cuda/host_words.h"
#include "toolkit/engine/cuda/stream.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
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
  [[nodiscard]] size_t memory_bytes() const { return memory_bytes_; }
  // Grows when CUDA's context is made anew, which ends all that was in it:
  // handles of libraries, events, memory.
  [[nodiscard]] uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }
  void wait() const;
  // The same, and true if the context is broken, which is left to whoever uses
  // the device next: CUDA says so again.
  bool end_work() const noexcept;
  // Drops streams, events and memory. Work that runs is waited for, unless the
  // context is broken, which is then made anew.
  void reset();

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
  // Host functions are not called: behind a sticky error, and while resetting.
  [[nodiscard]] bool passes_over() {
    if (resetting_.load()) {
      return true; // what kernels report may be gone
    }
    take_reported();
    return sticky() != musaSuccess;
  }

  // --- host functions ---
  [[nodiscard]] HostWords& host_words() { return host_words_; }
  // That were handed to a thread and have not returned.
  [[nodiscard]] std::atomic<int>& host_calls() { return host_calls_; }
  [[nodiscard]] int host_calls() const { return host_calls_.load(); }
  // What `start` returns, which is called once for each context.
  template <class F>
  void* wait_value(F&& start) {
    const std::lock_guard<std::mutex> lock(host_mutex_);
    if (!host_words_.is_open()) {
      wait_value_ = start(host_words_);
    }
    return wait_value_;
  }

  // --- settings ---
  void set_flags(unsigned flags);
  [[nodiscard]] unsigned flags();
  void set_limit(musaLimit limit, size_t value);
  [[nodiscard]] size_t limit(musaLimit limit) const;
  void enable_peer(int peer);
  void disable_peer(int peer);

 private:
  void make_context();
  DeviceError* make_error_slot();
  void take_reported();
  void restore_settings(bool context_is_gone);
  void forget_error();

  const int index_;
  Stream* legacy_ = nullptr;
  Stream* per_thread_ = nullptr;
  int multiprocessors_ = 0;
  size_t memory_bytes_ = 0;
  std::atomic<uint64_t> generation_{1};
  std::atomic<bool> resetting_{false};

  std::mutex error_mutex_;
  std::atomic<DeviceError*> slot_{nullptr};
  std::atomic<bool> has_error_{false};
  std::atomic<int> sticky_{0};
  musaError_t error_ = musaSuccess;
  std::string error_what_;
  const char* error_task_ = "";

  std::mutex host_mutex_;
  HostWords host_words_;
  std::atomic<int> host_calls_{0};
  void* wait_value_ = nullptr;

  std::mutex settings_mutex_;
  unsigned flags_ = 0;
  uint64_t peers_ = 0;                         // a bit for each
  std::map<musaLimit, size_t> default_limits_; // of those that were set
};

// Starts the engine and the device on first use.
Device& device(int index);
// Null if it was never used.
Device* device_if_started(int index) noexcept;
// The one that CUDA has as the calling thread's.
Device* current_device_if_started() noexcept;
// Waits for all devices that were used; a broken one is done.
void synchronize_all();

} // namespace musa_standin::engine::cuda
