// SPDX-License-Identifier: Apache-2.0
// The two ends of a stream's ring: submitters and the worker.
#include "toolkit/engine/cpu/stream.h"

#include "toolkit/engine/cpu/capture.h"
#include "toolkit/engine/cpu/counters.h"
#include "toolkit/engine/cpu/device.h"
#include "toolkit/engine/cpu/scheduler.h"
#include "toolkit/engine/fault.h"

#include <linux/membarrier.h>
#include <sys/mman.h>

#include <chrono>
#include <ctime>
#include <new>

namespace musa_standin::engine::cpu {
namespace {

using Clock = std::chrono::steady_clock;
using Lock = std::lock_guard<SpinLock>;

constexpr size_t kRingBytes = sizeof(Task) * kRingTasks;
// Tasks that a worker runs before it turns to another waiting stream.
constexpr int kTurn = 8;
// All pollers together; one alone polls this long before it sleeps.
constexpr std::chrono::microseconds kPollTime{200};
// Then it looks every kNap, which costs the submitter nothing: to wake a
// sleeper is a system call and an interrupt to a halted core.
constexpr timespec kNap{0, 20'000};
constexpr std::chrono::milliseconds kNapTime{2};

bool stopped() {
  return (g_gate.load(std::memory_order_relaxed) & kGateStopped) != 0;
}

[[noreturn]] void throw_stopped() {
  throw Error(musaErrorMusartUnloading, "the engine has stopped");
}

long membarrier(int command) {
  return syscall(SYS_membarrier, command, 0, 0);
}

} // namespace

const bool Stream::kAsymmetric =
    membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;

void Stream::open(Device& device, unsigned flags, int priority, Order order) {
  owner_ = &device;
  device_ = device.index();
  flags_ = flags;
  priority_ = priority;
  order_ = order;
  legacy_ = order == Order::kLegacy ? this : &device.legacy();
  blocking_streams_ = &device.blocking_streams();
  last_worker = nullptr;
  ++generation_;
  // Nothing of the slot's former life is waited for.
  followed_.store(0, std::memory_order_relaxed);
  taken_.store(submitted(), std::memory_order_relaxed);
  idle_.store(1, std::memory_order_release);
  set_alive(true);
}

void Stream::close() {
  if (ring_ != nullptr) {
    munmap(static_cast<void*>(ring_), kRingBytes);
    ring_ = nullptr;
  }
}

// Under the lock: makes the ring, or waits until a quarter of it is free, so
// that a submitter that is always ahead does not sleep for each task.
void Stream::make_room(uint64_t number) {
  if (ring_ == nullptr) {
    void* memory = mmap(
        nullptr,
        kRingBytes,
        PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
        -1,
        0);
    if (memory == MAP_FAILED) {
      throw Error(
          musaErrorMemoryAllocation,
          "no memory for a stream's queue of tasks");
    }
    ring_ = static_cast<Task*>(memory);
  }
  finished_seen_ = finished();
  if (number - finished_seen_ < kRingTasks) {
    return;
  }
  count(Counter::kFullQueue);
  wait_until(number - kRingTasks + kRingTasks / 4);
  if (stopped()) {
    throw_stopped();
  }
  finished_seen_ = finished();
}

bool Stream::record(
    musaGraphNodeType type,
    const char* name,
    void (*run)(const void*),
    const void* closure,
    size_t bytes) {
  auto work = std::make_shared<Work>();
  work->run = run;
  work->name = name;
  work->bytes = bytes;
  std::memcpy(work->closure, closure, bytes);
  return capture_node(*this, {{}, type, name, {std::move(work)}, {}});
}

// A worker is called before a full ring can hold this thread.
uint64_t Stream::enqueue_all(
    const std::vector<std::shared_ptr<const Work>>& tasks) {
  const Lock lock(spin_);
  for (const auto& work : tasks) {
    Task* task = claim();
    std::memcpy(task->closure, work->closure, work->bytes);
    task->run = work->run;
    task->name = work->name;
    fetch_ahead(publish(*task), work->bytes);
    notify_worker();
  }
  return submitted_.load(std::memory_order_relaxed);
}

void Stream::wake_worker() {
  if (try_claim()) {
    try {
      g_scheduler.schedule(*this);
    } catch (const Error&) {
      idle_.store(1); // the next submit tries again
      throw;
    }
  }
}

void Stream::wait_for(const Mark& mark) {
  if (mark.stream == nullptr || mark.stream == this ||
      mark.stream->finished() >= mark.task || planted("lost_wait")) {
    return;
  }
  {
    const Lock lock(spin_);
    Task* task = claim();
    const WaitClosure closure{mark};
    std::memcpy(task->closure, &closure, sizeof closure);
    task->run = nullptr;
    task->name = "wait";
    waits_.fetch_add(1, std::memory_order_relaxed);
    publish(*task);
  }
  notify_worker();
}

bool Stream::poll(uint64_t number) const {
  constexpr int kFirst = 64;
  for (int i = 0; i < kFirst; ++i) {
    if (ready(number)) {
      return true;
    }
    relax();
  }
  const int pollers = g_scheduler.begin_polling();
  const auto end = Clock::now() + kPollTime / pollers;
  bool found = false;
  while (!(found = ready(number)) && !stopped() && g_scheduler.waiting() == 0 &&
         Clock::now() < end) {
    for (int i = 0; i < 16; ++i) {
      relax();
    }
    sched_yield();
  }
  g_scheduler.end_polling();
  return found || nap(number);
}

bool Stream::nap(uint64_t number) const {
  const auto end = Clock::now() + kNapTime;
  while (!stopped() && g_scheduler.waiting() == 0 && Clock::now() < end) {
    nanosleep(&kNap, nullptr);
    if (ready(number)) {
      return true;
    }
  }
  return false;
}

// After the store nobody looks at the ring any more, and from then on this
// object may belong to another worker, or be another stream: only what the
// table keeps is read.
bool Stream::let_go(uint64_t number) {
  idle_.store(1, std::memory_order_release);
  if (kAsymmetric) {
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  } else {
    full_barrier_.exchange(0);
  }
  if (submitted() <= number) {
    return true;
  }
  return !try_claim();
}

bool Stream::run_task(const Task& task) {
  if (task.run == nullptr) {
    WaitClosure wait;
    std::memcpy(&wait, task.closure, sizeof wait);
    parked_watch_.task = wait.mark.task;
    parked_watch_.parked = this;
    return wait.mark.stream->finished() >= wait.mark.task ||
        !wait.mark.stream->watch(parked_watch_);
  }
  if (owner_->drops_work()) {
    return true;
  }
  try {
    task.run(task.closure);
  } catch (const Error& error) {
    owner_->keep_error(error.code(), error.what(), task.name);
  } catch (const std::bad_alloc&) {
    owner_->keep_error(
        musaErrorMemoryAllocation,
        "the host is out of memory",
        task.name);
  } catch (const std::exception& error) {
    owner_->keep_error(musaErrorLaunchFailure, error.what(), task.name);
  }
  return true;
}

void Stream::finish(uint64_t number) {
  finished_.store(number, std::memory_order_seq_cst);
  if (number >= wake_at_.load(std::memory_order_seq_cst)) {
    notify_watchers();
  }
}

Stream::Outcome Stream::run() {
  uint64_t number = finished_.load(std::memory_order_relaxed);
  for (int turn = 0;;) {
    if (stopped()) {
      return Outcome::kStopped;
    }
    if (!ready(number) && !poll(number)) {
      if (!stopped() && let_go(number)) {
        return Outcome::kIdle;
      }
      // Claimed again, perhaps after another worker has been here.
      number = finished_.load(std::memory_order_relaxed);
      continue;
    }
    if (!run_task(ring_[number % kRingTasks])) {
      return Outcome::kParked;
    }
    finish(++number);
    const uint32_t waiting = g_scheduler.waiting();
    if (__builtin_expect(waiting != 0, 0)) {
      const uint32_t more_urgent = waiting >> (-priority_ + 1);
      if (more_urgent != 0 || ++turn >= kTurn) {
        return Outcome::kRotated;
      }
    }
  }
}

bool Stream::watch(Watcher& watcher) {
  const Lock lock(watch_lock_);
  watcher.next = watchers_;
  watchers_ = &watcher;
  if (watcher.task < wake_at_.load(std::memory_order_relaxed)) {
    wake_at_.store(watcher.task, std::memory_order_seq_cst);
  }
  // Either the worker sees wake_at_, or this sees what the worker finished.
  if (finished_.load(std::memory_order_seq_cst) < watcher.task) {
    return true;
  }
  watchers_ = watcher.next;
  update_wake_at();
  return false;
}

void Stream::update_wake_at() {
  uint64_t next = UINT64_MAX;
  for (const Watcher* at = watchers_; at != nullptr; at = at->next) {
    next = next < at->task ? next : at->task;
  }
  wake_at_.store(next, std::memory_order_seq_cst);
}

void Stream::notify_watchers() {
  Watcher* parked = nullptr;
  {
    const Lock lock(watch_lock_);
    const uint64_t done = finished_.load(std::memory_order_relaxed);
    for (Watcher** link = &watchers_; *link != nullptr;) {
      Watcher* watcher = *link;
      if (watcher->task > done) {
        link = &watcher->next;
        continue;
      }
      *link = watcher->next;
      if (watcher->parked != nullptr) {
        watcher->next = parked;
        parked = watcher;
      } else {
        // Its thread takes the lock before it leaves: the word stays valid.
        watcher->woken.store(1, std::memory_order_release);
        futex_wake(watcher->woken, 1);
      }
    }
    update_wake_at();
  }
  while (parked != nullptr) {
    Stream* stream = parked->parked;
    parked = parked->next; // before it runs: the watcher is the stream's own
    g_scheduler.schedule(*stream);
  }
}

void Stream::wait_until(uint64_t task) {
  if (finished() >= task) {
    return;
  }
  Watcher watcher;
  watcher.task = task;
  if (!watch(watcher)) {
    return;
  }
  while (watcher.woken.load(std::memory_order_acquire) == 0) {
    if (stopped()) {
      wake_all_watchers();
      break;
    }
    futex_wait(watcher.woken, 0);
  }
  const Lock lock(watch_lock_);
}

void Stream::wake_all_watchers() {
  const Lock lock(watch_lock_);
  for (Watcher** link = &watchers_; *link != nullptr;) {
    Watcher* watcher = *link;
    if (watcher->parked != nullptr) {
      link = &watcher->next;
      continue;
    }
    *link = watcher->next;
    watcher->woken.store(1, std::memory_order_release);
    futex_wake(watcher->woken, 1);
  }
}

} // namespace musa_standin::engine::cpu
