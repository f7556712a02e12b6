// SPDX-License-Identifier: Apache-2.0
// Objects behind handles: a handle that is none, or dead, is always told.
#pragma once

#include "toolkit/engine/error.h"

#include <sys/mman.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>

namespace musa_standin::engine {

// Slots of one reserved range, made as they are needed and never unmapped.  The
// slot that was given back first is taken first, so that a dead handle stays
// dead for as long as possible.
template <class T, size_t Capacity>
class HandleTable {
 public:
  HandleTable() {
    void* memory = mmap(
        nullptr,
        sizeof(T) * Capacity,
        PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
        -1,
        0);
    if (memory == MAP_FAILED) {
      throw Error(musaErrorMemoryAllocation, "no addresses for handles");
    }
    slots_ = static_cast<T*>(memory);
#if defined(__SANITIZE_ADDRESS__)
    // LeakSanitizer does not look for pointers in memory that is mapped.
    __lsan_register_root_region(memory, sizeof(T) * Capacity);
#endif
  }
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  T& take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t made = made_.load(std::memory_order_relaxed);
    if (made < Capacity && free_.size() < kKeep) {
      T* slot = new (&slots_[made]) T();
      made_.store(made + 1, std::memory_order_release);
      return *slot;
    }
    if (free_.empty()) {
      throw Error(musaErrorMemoryAllocation, "too many live handles");
    }
    T* slot = free_.front();
    free_.pop_front();
    return *slot;
  }

  void give_back(T& slot) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(&slot);
  }

  // Null for what is no slot; the slot may be dead.
  [[nodiscard]] T* find(const void* handle) const {
    const auto offset = reinterpret_cast<uintptr_t>(handle) -
        reinterpret_cast<uintptr_t>(slots_);
    const size_t index = offset / sizeof(T);
    return index < made_.load(std::memory_order_acquire) &&
            offset % sizeof(T) == 0
        ? &slots_[index]
        : nullptr;
  }

  template <class F>
  void for_each(F&& f) {
    const size_t made = made_.load(std::memory_order_acquire);
    for (size_t i = 0; i < made; ++i) {
      f(slots_[i]);
    }
  }

 private:
  // Dead slots that are kept before one is used again.
  static constexpr size_t kKeep = 64;

  T* slots_ = nullptr;
  std::atomic<size_t> made_{0};
  std::mutex mutex_;
  std::deque<T*> free_;
};

} // namespace musa_standin::engine
