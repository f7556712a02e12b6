// SPDX-License-Identifier: Apache-2.0
// A stream: a bounded ring of tasks that at most one worker runs at a time.
#pragma once

#include "toolkit/engine/cpu/spin_lock.h"
#include "toolkit/engine/runtime.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace musa_standin::engine::cpu {

class Device;
class Stream;
struct Lane;

constexpr size_t kTaskBytes = 896;
constexpr uint64_t kRingTasks = 4096;
// How many slots ahead of the submitter the ring's lines are asked for.
constexpr uint64_t kTasksAhead = 4;
constexpr size_t kLineBytes = 64;

// The publish word lies beside the closure: one cache line travels, and no
// fence is needed between the two.
struct alignas(64) Task {
  // Twice the task's number, plus one: never 0, which is what new memory holds.
  std::atomic<uint32_t> published;
  // Null: a wait for another stream, which parks this one.
  void (*run)(const void* closure);
  const char* name;
  alignas(16) unsigned char closure[kTaskBytes];
};

// A recorded task: the part of a Task that can run again.
struct Work {
  void (*run)(const void* closure);
  const char* name;
  size_t bytes;
  alignas(16) unsigned char closure[kTaskBytes];
};

// The kind of a closure's graph node: its kNode, if it has one.
template <class F, class = void>
struct NodeType {
  static constexpr musaGraphNodeType value = musaGraphNodeTypeKernel;
};
template <class F>
struct NodeType<F, std::void_t<decltype(F::kNode)>> {
  static constexpr musaGraphNodeType value = F::kNode;
};

// The point of a stream where `task` tasks have ended.  Valid for ever:
// streams are never unmapped, and a reused one counts on.
struct Mark {
  Stream* stream = nullptr;
  uint64_t task = 0;
};

// Someone who waits for a mark: a thread, or a parked stream.
struct Watcher {
  uint64_t task = 0;
  Stream* parked = nullptr; // null: a thread that sleeps on `woken`
  FutexWord woken{0};
  Watcher* next = nullptr;
};

class Stream final : public engine::Stream {
 public:
  enum class Order : uint8_t {
    kNone,     // does not look at the default stream
    kBlocking, // after the legacy default stream's earlier work
    kLegacy,   // the legacy default stream itself
  };

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // A slot of the table becomes a stream; the counters go on.
  void open(Device& device, unsigned flags, int priority, Order order);
  // No thread runs it and no task is left: the ring is given back.
  void close();

  // The closure is copied; it runs on the stream's worker, later and perhaps
  // again.  Returns at once unless the ring is full, and then when it is not.
  // The result is the number of tasks up to this one.
  template <class F>
  uint64_t submit(const char* name, const F& f) {
    static_assert(std::is_trivially_copyable_v<F>);
    static_assert(sizeof(F) <= kTaskBytes && alignof(F) <= 16);
    if (__builtin_expect(captured(), 0) &&
        record(NodeType<F>::value, name, &call<F>, &f, sizeof(F))) {
      return submitted();
    }
    follow_default_stream();
    return enqueue(name, f);
  }

  // As submit, after a call of follow_default_stream().
  template <class F>
  uint64_t enqueue(const char* name, const F& f) {
    uint64_t number = 0;
    {
      const std::lock_guard<SpinLock> lock(spin_);
      Task* task = claim();
      std::memcpy(task->closure, static_cast<const void*>(&f), sizeof(F));
      task->run = &call<F>;
      task->name = name;
      number = publish(*task);
      fetch_ahead(number, sizeof(F));
    }
    notify_worker();
    return number;
  }

  // Recorded tasks, with nothing of other threads between them.
  uint64_t enqueue_all(const std::vector<std::shared_ptr<const Work>>& tasks);

  // Keeps the rule of the legacy default stream for what comes next.
  void follow_default_stream() {
    if (order_ != Order::kNone &&
        __builtin_expect(default_order_pending(), 0)) {
      take_default_order();
    }
  }

  // What is submitted later starts when the mark is reached.
  void wait_for(const Mark& mark);

  // Behind all that was submitted so far, and what the rule of the legacy
  // default stream puts before the next task.
  Mark mark() {
    follow_default_stream();
    return {this, submitted()};
  }

  [[nodiscard]] uint64_t submitted() const noexcept {
    return submitted_.load(std::memory_order_acquire);
  }
  [[nodiscard]] uint64_t finished() const noexcept {
    return finished_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool idle() const noexcept { return finished() >= submitted(); }
  // Tasks of calls: all but the waits that the engine adds.
  [[nodiscard]] uint64_t calls() const noexcept {
    return submitted() - waits_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool alive() const noexcept {
    return alive_.load(std::memory_order_acquire);
  }
  void set_alive(bool alive) noexcept {
    alive_.store(alive, std::memory_order_release);
  }
  // Counts the streams that this slot of the table has been.
  [[nodiscard]] uint64_t generation() const noexcept { return generation_; }
  [[nodiscard]] Device& owner() const noexcept { return *owner_; }
  [[nodiscard]] Order order() const noexcept { return order_; }

  // --- for captures ---
  // Calls on this stream are recorded, or must not be made at all.
  [[nodiscard]] bool captured() const noexcept { return lane() != nullptr; }
  [[nodiscard]] Lane* lane() const noexcept {
    return lane_.load(std::memory_order_relaxed);
  }
  void set_lane(Lane* lane) noexcept {
    lane_.store(lane, std::memory_order_relaxed);
  }

  // --- for the threads that wait ---
  // False if the mark has been reached already; then nothing was kept.
  bool watch(Watcher& watcher);
  // Sleeps until `task` tasks have ended, or the engine stops.
  void wait_until(uint64_t task);
  void wake_all_watchers();

  // --- for the scheduler ---
  enum class Outcome : uint8_t { kIdle, kParked, kRotated, kStopped };
  // Runs tasks until there are none, or others should have the worker.
  Outcome run();
  bool try_claim() noexcept { return idle_.exchange(0) != 0; }
  Stream* next_ready = nullptr;
  void* last_worker = nullptr;

 private:
  struct WaitClosure {
    Mark mark;
  };

  template <class F>
  static void call(const void* closure) {
    (*static_cast<const F*>(closure))();
  }

  // False: the capture has ended meanwhile.
  bool record(
      musaGraphNodeType type,
      const char* name,
      void (*run)(const void*),
      const void* closure,
      size_t bytes);

  [[nodiscard]] bool default_order_pending() const noexcept {
    return order_ == Order::kLegacy
        ? blocking_streams_->load(std::memory_order_relaxed) != 0
        : legacy_->submitted() > followed_.load(std::memory_order_acquire);
  }
  void take_default_order();

  // Under the lock: the next slot, when it is free.
  Task* claim() {
    const uint64_t number = submitted_.load(std::memory_order_relaxed);
    if (__builtin_expect(number - finished_seen_ >= kRingTasks, 0) ||
        __builtin_expect(ring_ == nullptr, 0)) {
      make_room(number);
    }
    return &ring_[number % kRingTasks];
  }
  void make_room(uint64_t number);

  static constexpr uint32_t publish_word(uint64_t number) {
    return static_cast<uint32_t>(number * 2 + 1);
  }
  uint64_t publish(Task& task) {
    const uint64_t number = submitted_.load(std::memory_order_relaxed);
    task.published.store(publish_word(number), std::memory_order_release);
    submitted_.store(number + 1, std::memory_order_release);
    return number + 1;
  }
  // The worker has a slot's lines from when it last ran there. Without this, a
  // submitter waits for them at its next locked instruction: 0.1 to 0.25 us
  // between two cores of a Xeon. Tasks to come are taken to be like this one.
  void fetch_ahead(uint64_t number, size_t bytes) const {
    const Task& later = ring_[(number + kTasksAhead) % kRingTasks];
    const auto* const first = reinterpret_cast<const char*>(&later);
    const size_t end = offsetof(Task, closure) + bytes;
    for (size_t at = 0; at < end; at += kLineBytes) {
      fetch_to_write(first + at);
    }
  }
  void notify_worker() {
    if (__builtin_expect(!kAsymmetric, 0)) {
      // A read-modify-write in place of a fence, which gcc's TSan refuses.
      full_barrier_.exchange(0);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (__builtin_expect(idle_.load(std::memory_order_relaxed) != 0, 0)) {
      wake_worker();
    }
  }
  void wake_worker();

  [[nodiscard]] bool ready(uint64_t number) const noexcept {
    return ring_[number % kRingTasks].published.load(
               std::memory_order_acquire) == publish_word(number);
  }
  // Spins, then naps; true if the task came, false if the worker should go.
  [[nodiscard]] bool poll(uint64_t number) const;
  [[nodiscard]] bool nap(uint64_t number) const;
  // True if the stream is free for another worker to claim.
  bool let_go(uint64_t number);
  // False: parked, and perhaps with another worker by now.
  bool run_task(const Task& task);
  void finish(uint64_t number);
  void notify_watchers();
  void update_wake_at();

  // Does the worker's membarrier stand in for a fence in each submit?
  static const bool kAsymmetric;

  // Read by every submit, written rarely.
  Order order_ = Order::kNone;
  std::atomic<bool> alive_{false};
  // Changed under the captures' mutex, and read again there.
  std::atomic<Lane*> lane_{nullptr};
  Task* ring_ = nullptr;
  Device* owner_ = nullptr;
  Stream* legacy_ = nullptr;                           // the device's
  const std::atomic<int>* blocking_streams_ = nullptr; // the device's
  uint64_t generation_ = 0;
  // 1: no worker looks at the ring, so a submit must call one.
  std::atomic<uint32_t> idle_{1};
  std::atomic<uint32_t> full_barrier_{0};

  // Producers.
  alignas(64) SpinLock spin_;
  std::atomic<uint64_t> submitted_{0};
  uint64_t finished_seen_ = 0;
  std::atomic<uint64_t> waits_{0};

  // The worker.
  alignas(64) std::atomic<uint64_t> finished_{0};

  // Watchers; wake_at_ is the smallest task that one of them waits for.
  alignas(64) std::atomic<uint64_t> wake_at_{UINT64_MAX};
  SpinLock watch_lock_;
  Watcher* watchers_ = nullptr;
  Watcher parked_watch_; // this stream's own place in another's list

  // A blocking stream: the tail of the legacy stream that it waits for, and
  // its own tail that the legacy stream waits for.
  std::atomic<uint64_t> followed_{0};
  std::atomic<uint64_t> taken_{0};
};

// F: a trivially copyable closure of at most 896 bytes, called as f() on the
// stream's worker.  It reports an error by throwing engine::Error, which
// becomes the device's first error, with the task's name.
template <class F>
void submit(engine::Stream& stream, const char* name, const F& f) {
  static_cast<Stream&>(stream).submit(name, f);
}

// While it lives, this worker may be held up by something outside the engine,
// and another one takes over the other streams.
class BlockingScope {
 public:
  BlockingScope();
  ~BlockingScope();
  BlockingScope(const BlockingScope&) = delete;
  BlockingScope& operator=(const BlockingScope&) = delete;
};

} // namespace musa_standin::engine::cpu
