// SPDX-License-Identifier: Apache-2.0
// A lock for a few dozen instructions, and futex words to sleep on.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace musa_standin::engine::cpu {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

// Unlocked by a plain store: half the price of a mutex.
class SpinLock {
 public:
  void lock() noexcept {
    for (int tries = 0; word_.exchange(1, std::memory_order_acquire) != 0;
         ++tries) {
      if (tries < 64) {
        relax();
      } else if (tries < 2048) {
        sched_yield();
      } else {
        usleep(50); // the holder itself is held: by a full queue
      }
    }
  }
  void unlock() noexcept { word_.store(0, std::memory_order_release); }

 private:
  std::atomic<uint32_t> word_{0};
};

using FutexWord = std::atomic<uint32_t>;

// Sleeps while the word has this value; may return early.
inline void futex_wait(FutexWord& word, uint32_t value) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
inline void futex_wake(FutexWord& word, int threads) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

} // namespace musa_standin::engine::cpu
