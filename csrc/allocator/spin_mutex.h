// SPDX-License-Identifier: Apache-2.0
// A mutex for critical sections of some nanoseconds: half the price of
// std::mutex where nobody else wants it.
#pragma once

#include <sched.h>

#include <atomic>

namespace torch_fl::allocator {

// Whoever waits gives up its core after a short while, since the holder may
// need it. For std::unique_lock and std::lock_guard.
class SpinMutex {
 public:
  void lock() noexcept {
    int tries = 0;
    while (held_.exchange(true, std::memory_order_acquire)) {
      while (held_.load(std::memory_order_relaxed)) {
        if (++tries > kTriesBeforeYield) {
          sched_yield();
        }
      }
    }
  }

  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  static constexpr int kTriesBeforeYield = 64;
  std::atomic<bool> held_{false};
};

} // namespace torch_fl::allocator
