// SPDX-License-Identifier: Apache-2.0
// The few threads that run the tasks of all streams.
#pragma once

#include "toolkit/engine/cpu/spin_lock.h"

#include <atomic>
#include <cstdint>

namespace musa_standin::engine::cpu {

class Stream;
struct Worker;

// A stream with tasks is run by one worker at a time.  A worker stays with its
// stream, polls it for a while, and sleeps when there is nothing to do.  There
// are at most `limit` workers that are neither asleep nor inside a
// BlockingScope; streams beyond that wait in the ready lists, and workers that
// poll, or have run a few tasks, turn to those.  Constant-initialised and never
// destroyed: threads may still be here when the process ends.
class Scheduler {
 public:
  static constexpr int kPriorities = 4;

  void set_limit(int limit) { limit_ = limit; }

  // Finds a worker for a stream whose claim the caller holds.
  void schedule(Stream& stream);

  // Bit p: streams of priority -p are waiting for a worker.
  [[nodiscard]] uint32_t waiting() const {
    return ready_mask_.load(std::memory_order_relaxed);
  }
  // The best waiting stream in exchange for this one; this one if none waits.
  Stream* exchange(Stream& stream);

  void enter_blocking();
  void leave_blocking();

  // From now on no task starts; returns when the running ones have ended.
  // Host functions, which may wait for anything, get a fraction of a second.
  void stop();

  int begin_polling() { return pollers_.fetch_add(1) + 1; }
  void end_polling() { pollers_.fetch_sub(1); }

  [[nodiscard]] uint64_t wakes() const { return wakes_.load(); }
  [[nodiscard]] int threads() const { return threads_.load(); }

 private:
  friend struct Worker;
  Stream* next(Worker& self);
  void push_ready(Stream& stream);
  Stream* pop_ready();
  Worker* pick_idle(const Stream& stream);
  void start_worker(Stream& stream);
  void wake(Worker& worker);
  void retire();

  struct List {
    Stream* first = nullptr;
    Stream* last = nullptr;
  };

  SpinLock lock_;
  List ready_[kPriorities];
  Worker* idle_ = nullptr; // last to sleep first
  int active_ = 0;
  int blocked_ = 0;
  int limit_ = 2;
  std::atomic<uint32_t> ready_mask_{0};
  std::atomic<int> pollers_{0};
  std::atomic<int> threads_{0};
  std::atomic<uint64_t> wakes_{0};
};

extern Scheduler g_scheduler;

// Starts a detached thread with all signals left to the program's own threads.
// Throws Error when the system refuses one.
void start_thread(void (*body)(void*), void* argument);

// Every engine thread runs oneDNN's loops by itself.
void prepare_engine_thread(const char* name);

} // namespace musa_standin::engine::cpu
