// SPDX-License-Identifier: Apache-2.0
// Workers: how a stream finds one, and how one finds its next stream.
#include "toolkit/engine/cpu/scheduler.h"

#include "toolkit/engine/cpu/stream.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <csignal>
#include <ctime>
#include <mutex>

extern "C" void omp_set_num_threads(int threads);

namespace musa_standin::engine::cpu {

using Lock = std::lock_guard<SpinLock>;

struct Worker {
  alignas(64) FutexWord woken{0};
  Stream* assigned = nullptr;
  Worker* next_idle = nullptr;

  void run(Stream* stream);
};

Scheduler g_scheduler;

namespace {

bool stopped() {
  return (g_gate.load(std::memory_order_relaxed) & kGateStopped) != 0;
}

[[noreturn]] void sleep_for_ever() {
  for (;;) {
    pause();
  }
}

struct ThreadStart {
  void (*body)(void*);
  void* argument;
};

void* thread_main(void* raw) {
  const ThreadStart start = *static_cast<ThreadStart*>(raw);
  delete static_cast<ThreadStart*>(raw);
  start.body(start.argument);
  return nullptr;
}

} // namespace

void prepare_engine_thread(const char* name) {
  prctl(PR_SET_NAME, name, 0, 0, 0);
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); // naps end when they should
  omp_set_num_threads(1);
}

void start_thread(void (*body)(void*), void* argument) {
  auto* start = new ThreadStart{body, argument};
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
    sigdelset(&all, fault);
  }
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int failed = pthread_create(&thread, nullptr, &thread_main, start);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed != 0) {
    delete start;
    throw Error(
        musaErrorOperatingSystem,
        "the engine could not start a thread");
  }
  pthread_detach(thread);
}

void Worker::run(Stream* stream) {
  prepare_engine_thread("musa-worker");
  for (;;) {
    if (stream == nullptr) {
      stream = g_scheduler.next(*this);
    }
    stream->last_worker = this;
    switch (stream->run()) {
    case Stream::Outcome::kIdle:
    case Stream::Outcome::kParked:
      stream = nullptr; // another worker may hold it by now
      break;
    case Stream::Outcome::kRotated:
      stream = g_scheduler.exchange(*stream);
      break;
    case Stream::Outcome::kStopped:
      g_scheduler.retire();
    }
  }
}

void Scheduler::push_ready(Stream& stream) {
  const int level = -stream.priority();
  List& list = ready_[level];
  stream.next_ready = nullptr;
  (list.first == nullptr ? list.first : list.last->next_ready) = &stream;
  list.last = &stream;
  ready_mask_.fetch_or(1U << level);
}

// Bit 0 is priority 0, the lowest; higher priorities have higher bits.
Stream* Scheduler::pop_ready() {
  const uint32_t mask = ready_mask_.load();
  if (mask == 0) {
    return nullptr;
  }
  const int level = 31 - __builtin_clz(mask);
  List& list = ready_[level];
  Stream* stream = list.first;
  list.first = stream->next_ready;
  if (list.first == nullptr) {
    ready_mask_.fetch_and(~(1U << level));
  }
  return stream;
}

// The worker that ran the stream last, if it sleeps: its cache is warm.
Worker* Scheduler::pick_idle(const Stream& stream) {
  Worker** link = &idle_;
  for (Worker** at = &idle_; *at != nullptr; at = &(*at)->next_idle) {
    if (*at == stream.last_worker) {
      link = at;
      break;
    }
  }
  Worker* worker = *link;
  if (worker != nullptr) {
    *link = worker->next_idle;
  }
  return worker;
}

void Scheduler::schedule(Stream& stream) {
  Worker* worker = nullptr;
  {
    const Lock lock(lock_);
    if (stopped()) {
      return;
    }
    if (active_ >= limit_) {
      push_ready(stream);
      return;
    }
    ++active_;
    worker = pick_idle(stream);
    if (worker != nullptr) {
      worker->assigned = &stream;
    }
  }
  if (worker == nullptr) {
    start_worker(stream);
    return;
  }
  wake(*worker);
}

void Scheduler::wake(Worker& worker) {
  wakes_.fetch_add(1, std::memory_order_relaxed);
  worker.woken.store(1, std::memory_order_release);
  futex_wake(worker.woken, 1);
}

void Scheduler::start_worker(Stream& stream) {
  auto* worker = new Worker; // lives as long as its thread: for ever
  worker->assigned = &stream;
  try {
    start_thread(
        [](void* raw) {
          auto* self = static_cast<Worker*>(raw);
          self->run(self->assigned);
        },
        worker);
    threads_.fetch_add(1);
  } catch (const Error&) {
    delete worker;
    Worker* other = nullptr;
    {
      const Lock lock(lock_);
      --active_;
      if (threads_.load() == 0) {
        throw;
      }
      // Those that exist will come to it; if all sleep, one is woken.
      push_ready(stream);
      if (active_ == 0 && idle_ != nullptr) {
        ++active_;
        other = pick_idle(stream);
        other->assigned = pop_ready();
      }
    }
    if (other != nullptr) {
      wake(*other);
    }
  }
}

Stream* Scheduler::next(Worker& self) {
  {
    const Lock lock(lock_);
    Stream* stream = pop_ready();
    if (stream != nullptr) {
      return stream;
    }
    --active_;
    self.next_idle = idle_;
    idle_ = &self;
  }
  while (self.woken.load(std::memory_order_acquire) == 0) {
    futex_wait(self.woken, 0);
  }
  self.woken.store(0, std::memory_order_relaxed);
  return self.assigned;
}

Stream* Scheduler::exchange(Stream& stream) {
  const Lock lock(lock_);
  Stream* other = pop_ready();
  if (other == nullptr) {
    return &stream;
  }
  push_ready(stream);
  return other;
}

void Scheduler::enter_blocking() {
  Stream* stream = nullptr;
  {
    const Lock lock(lock_);
    --active_;
    ++blocked_;
    if (!stopped() && active_ < limit_) {
      stream = pop_ready();
    }
  }
  if (stream != nullptr) {
    schedule(*stream);
  }
}

void Scheduler::leave_blocking() {
  const Lock lock(lock_);
  ++active_;
  --blocked_;
}

void Scheduler::retire() {
  {
    const Lock lock(lock_);
    --active_;
  }
  sleep_for_ever();
}

void Scheduler::stop() {
  constexpr int kHostFunctionTicks = 1000; // of 200 us
  for (int tick = 0;; ++tick) {
    {
      const Lock lock(lock_);
      if (active_ == 0 && (blocked_ == 0 || tick > kHostFunctionTicks)) {
        return;
      }
    }
    const timespec pause{0, 200'000};
    nanosleep(&pause, nullptr);
  }
}

BlockingScope::BlockingScope() {
  g_scheduler.enter_blocking();
}

BlockingScope::~BlockingScope() {
  g_scheduler.leave_blocking();
}

} // namespace musa_standin::engine::cpu
