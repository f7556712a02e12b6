// SPDX-License-Identifier: Apache-2.0
// A lock for a few dozen instructions, futex words to sleep on, and hints to
// the processor.
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

// Has the line of an address brought here for writing. gcc's own builtin asks
// for a shared copy unless it may assume a newer processor; an older one takes
// this instruction as a no-op.
inline void fetch_to_write(const void* address) {
#if defined(__x86_64__) || defined(__i386__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
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
