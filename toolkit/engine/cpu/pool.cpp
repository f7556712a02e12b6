// SPDX-License-Identifier: Apache-2.0
// Chunks of a parallel_for, taken by its caller and by sleeping helpers.
#include "toolkit/engine/cpu/pool.h"

#include "toolkit/engine/cpu/config.h"
#include "toolkit/engine/cpu/scheduler.h"
#include "toolkit/engine/cpu/spin_lock.h"

#include "toolkit/engine/error.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>

namespace musa_standin::engine::cpu {
namespace {

using Lock = std::lock_guard<SpinLock>;
using Clock = std::chrono::steady_clock;

// A helper looks for the next loop this long before it sleeps.
constexpr std::chrono::microseconds kLinger{20};
constexpr int64_t kChunksPerThread = 4;

// On its caller's stack; leaves the list before the caller waits for helpers.
struct Job {
  int64_t n = 0;
  int64_t chunk = 0;
  ChunkFunction fn = nullptr;
  void* context = nullptr;
  Job* next = nullptr;
  int wanted = 0; // helpers that may still join; under the pool's lock
  alignas(64) std::atomic<int64_t> taken{0};
  alignas(64) std::atomic<int> helpers{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;
};

struct Helper {
  alignas(64) FutexWord woken{0};
  Helper* next_idle = nullptr;
};

struct Pool {
  SpinLock lock;
  Job* jobs = nullptr;
  Helper* idle = nullptr;
  int started = 0;
  std::atomic<int> open{
      0}; // jobs that want helpers: what a lingering one reads
};

Pool g_pool;
__thread bool t_in_parallel = false;

void work(Job& job) {
  t_in_parallel = true;
  for (;;) {
    const int64_t begin = job.taken.fetch_add(job.chunk);
    if (begin >= job.n) {
      break;
    }
    try {
      job.fn(job.context, begin, std::min(job.n, begin + job.chunk));
    } catch (...) { // thrown again by the caller
      if (!job.failed.exchange(true)) {
        job.error = std::current_exception();
      }
      job.taken.store(job.n);
    }
  }
  t_in_parallel = false;
}

// Under the lock: a helper to wake for what is still wanted, or null.
Helper* take_idle() {
  Helper* helper = g_pool.idle;
  if (helper != nullptr) {
    g_pool.idle = helper->next_idle;
  }
  return helper;
}

void wake(Helper* helper) {
  if (helper != nullptr) {
    helper->woken.store(1, std::memory_order_release);
    futex_wake(helper->woken, 1);
  }
}

// Joins a job that wants helpers and passes the call on to one more sleeper.
Job* join() {
  Job* found = nullptr;
  Helper* other = nullptr;
  {
    const Lock lock(g_pool.lock);
    for (Job* job = g_pool.jobs; job != nullptr; job = job->next) {
      if (job->wanted == 0) {
        continue;
      }
      if (job->taken.load(std::memory_order_relaxed) < job->n) {
        found = job;
        break;
      }
      job->wanted = 0;
      g_pool.open.fetch_sub(1);
    }
    if (found == nullptr) {
      return nullptr;
    }
    found->helpers.fetch_add(1);
    if (--found->wanted == 0) {
      g_pool.open.fetch_sub(1);
    } else {
      other = take_idle();
    }
  }
  wake(other);
  return found;
}

[[noreturn]] void help(Helper& self) {
  prepare_engine_thread("musa-pool");
  for (;;) {
    Job* job = join();
    if (job != nullptr) {
      work(*job);
      job->helpers.fetch_sub(1); // from here on the job may be gone
      continue;
    }
    const auto end = Clock::now() + kLinger;
    while (g_pool.open.load(std::memory_order_relaxed) == 0 &&
           Clock::now() < end) {
      for (int i = 0; i < 8; ++i) {
        relax();
      }
      sched_yield();
    }
    {
      const Lock lock(g_pool.lock);
      if (g_pool.open.load(std::memory_order_relaxed) > 0) {
        continue;
      }
      self.next_idle = g_pool.idle;
      g_pool.idle = &self;
    }
    while (self.woken.load(std::memory_order_acquire) == 0) {
      futex_wait(self.woken, 0);
    }
    self.woken.store(0, std::memory_order_relaxed);
  }
}

// The first loop starts all helpers; they live as long as the process.
void start_helpers(int helpers) {
  int first = 0;
  {
    const Lock lock(g_pool.lock);
    first = g_pool.started;
    g_pool.started = std::max(first, helpers);
  }
  for (int i = first; i < helpers; ++i) {
    try {
      start_thread(
          [](void* raw) { help(*static_cast<Helper*>(raw)); },
          new Helper);
    } catch (const engine::Error&) {
      return; // fewer helpers: the loops still end
    }
  }
}

} // namespace

int pool_threads() {
  static const int threads = config().threads;
  return threads;
}

bool in_parallel() {
  return t_in_parallel;
}

int64_t chunk_size(int64_t n, int64_t grain) {
  grain = std::max<int64_t>(grain, 1);
  const int threads = pool_threads();
  if (threads == 1) {
    return (n + grain - 1) / grain * grain;
  }
  const int64_t grains = (n + grain - 1) / grain;
  const int64_t parts = kChunksPerThread * threads;
  return (grains + parts - 1) / parts * grain;
}

void run_chunks(int64_t n, int64_t chunk, ChunkFunction fn, void* context) {
  const int64_t chunks = (n + chunk - 1) / chunk;
  const int helpers = pool_threads() - 1;
  Job job;
  job.n = n;
  job.chunk = chunk;
  job.fn = fn;
  job.context = context;
  job.wanted = static_cast<int>(std::min<int64_t>(helpers, chunks - 1));
  if (job.wanted == 0) {
    work(job);
  } else {
    start_helpers(helpers);
    Helper* first = nullptr;
    {
      const Lock lock(g_pool.lock);
      job.next = g_pool.jobs;
      g_pool.jobs = &job;
      g_pool.open.fetch_add(1);
      first = take_idle();
    }
    wake(first);
    work(job);
    {
      const Lock lock(g_pool.lock);
      Job** link = &g_pool.jobs;
      while (*link != &job) {
        link = &(*link)->next;
      }
      *link = job.next;
      if (job.wanted > 0) {
        g_pool.open.fetch_sub(1);
      }
    }
  }
  for (int spins = 0; job.helpers.load() != 0; ++spins) {
    if (spins < 256) {
      relax();
    } else {
      sched_yield();
    }
  }
  if (job.failed.load()) {
    std::rethrow_exception(job.error);
  }
}

} // namespace musa_standin::engine::cpu
