// SPDX-License-Identifier: Apache-2.0
// One device: its streams, its memory, and the first error of its tasks.
#pragma once

#include "toolkit/engine/cpu/config.h"
#include "toolkit/engine/cpu/heap.h"
#include "toolkit/engine/cpu/stream.h"
#include "toolkit/engine/handle_table.h"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace musa_standin::engine::cpu {

class MemPool;

using StreamTable = HandleTable<Stream, size_t{1} << 16>;
StreamTable& stream_table();

class Device {
 public:
  explicit Device(int index);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] int index() const { return index_; }

  // --- streams ---
  [[nodiscard]] Stream& legacy() const { return *legacy_; }
  Stream& create_stream(unsigned flags, int priority);
  // The handle is dead at once; the slot is free when its tasks have ended.
  void destroy_stream(Stream& stream);
  [[nodiscard]] const std::atomic<int>& blocking_streams() const {
    return blocking_streams_;
  }
  // Unfinished blocking streams, the legacy one apart.
  std::vector<Mark> blocking_tails();
  // Waits for all that was submitted to any stream.
  void wait();
  [[nodiscard]] bool idle();
  // Frees the slots of destroyed streams that have ended.
  void reap();

  // --- errors ---
  void keep_error(musaError_t code, const char* what, const char* task);
  // Throws the first error; one that is not sticky is forgotten then.
  void throw_error();
  [[nodiscard]] musaError_t sticky() const {
    return static_cast<musaError_t>(sticky_.load(std::memory_order_acquire));
  }
  [[nodiscard]] const char* failed_task();
  // Tasks are passed over: after a sticky error, and while resetting.
  [[nodiscard]] bool drops_work() const {
    return drops_work_.load(std::memory_order_relaxed);
  }

  void reset();

  // --- memory ---
  std::mutex memory_mutex;
  Heap heap;
  std::vector<MemPool*> pools; // the first is the default pool
  MemPool* current_pool = nullptr;

  // --- settings ---
  std::mutex settings_mutex;
  unsigned flags = 0;
  uint32_t peers = 0;
  size_t limits[8] = {};
  int shared_memory_config = 0;

 private:
  void set_default_limits();
  std::vector<Mark> tails(bool blocking_only);

  const int index_;
  Stream* legacy_;
  std::mutex streams_mutex_;
  std::vector<Stream*> streams_; // all but the legacy one, destroyed ones too
  std::atomic<int> blocking_streams_{0};

  std::mutex error_mutex_;
  std::atomic<bool> has_error_{false};
  std::atomic<int> sticky_{0};
  std::atomic<bool> drops_work_{false};
  musaError_t error_ = musaSuccess;
  std::string error_what_;
  const char* error_task_ = "";
};

// Starts the engine and the device on first use.
Device& device(int index);
// Null if it was never used.
Device* device_if_started(int index);

// The calling thread's default stream of the device.
Stream& thread_stream(int device);

} // namespace musa_standin::engine::cpu
