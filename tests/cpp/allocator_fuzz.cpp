// SPDX-License-Identifier: Apache-2.0
// A million operations over 8 threads and 16 streams: no two live blocks
// overlap, and no memory is handed out before its other streams are done.
#include "csrc/allocator/device_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace torch_fl {
namespace {

constexpr int kThreads = 8;
constexpr int kStreams = 16;
constexpr int kOperations = 1'000'000;
constexpr size_t kLivePerThread = 48;

// One piece of work that uses a block: pending until the stream has run it.
using Pending = std::shared_ptr<std::atomic<int>>;

void run_ticket(void* ticket) {
  const std::unique_ptr<Pending> pending(static_cast<Pending*>(ticket));
  (*pending)->fetch_sub(1, std::memory_order_release);
}

struct Use {
  musaStream_t stream;
  Pending pending;
};

struct Live {
  c10::DataPtr data;
  size_t bytes = 0;
  std::vector<Use> uses;
};

// What the test knows about addresses: which are live, and what last used those
// that are not.
class Model {
 public:
  // Returns an error, or nothing.
  std::optional<std::string>
  claim(uintptr_t at, size_t bytes, musaStream_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (overlaps(live_, at, bytes)) {
      return "two live blocks overlap";
    }
    auto ghost = first_overlap(ghosts_, at, bytes);
    while (ghost != ghosts_.end() && ghost->first < at + bytes) {
      for (const Use& use : ghost->second.uses) {
        if (use.stream != stream &&
            use.pending->load(std::memory_order_acquire) != 0) {
          return "memory was handed out while another stream used it";
        }
      }
      ghost = forget_part(ghost, at, bytes);
    }
    live_[at] = bytes;
    return std::nullopt;
  }

  void release(uintptr_t at, size_t bytes, std::vector<Use> uses) {
    const std::lock_guard<std::mutex> lock(mutex_);
    live_.erase(at);
    ghosts_[at] = {bytes, std::move(uses)};
  }

 private:
  struct Ghost {
    size_t bytes = 0;
    std::vector<Use> uses;
  };
  using Ghosts = std::map<uintptr_t, Ghost>;

  static size_t size_of(size_t bytes) { return bytes; }
  static size_t size_of(const Ghost& ghost) { return ghost.bytes; }

  template <class Map>
  static typename Map::iterator
  first_overlap(Map& map, uintptr_t at, size_t bytes) {
    auto next = map.upper_bound(at);
    if (next != map.begin()) {
      auto before = std::prev(next);
      if (before->first + size_of(before->second) > at) {
        return before;
      }
    }
    return next != map.end() && next->first < at + bytes ? next : map.end();
  }

  template <class Map>
  static bool overlaps(Map& map, uintptr_t at, size_t bytes) {
    return first_overlap(map, at, bytes) != map.end();
  }

  // Keeps what lies before and after the claimed part.
  Ghosts::iterator
  forget_part(Ghosts::iterator ghost, uintptr_t at, size_t bytes) {
    const uintptr_t start = ghost->first;
    const Ghost old = std::move(ghost->second);
    const uintptr_t end = start + old.bytes;
    auto next = ghosts_.erase(ghost);
    if (start < at) {
      ghosts_[start] = {at - start, old.uses};
    }
    if (end > at + bytes) {
      next =
          ghosts_.emplace(at + bytes, Ghost{end - at - bytes, old.uses}).first;
      ++next;
    }
    return next;
  }

  std::mutex mutex_;
  std::map<uintptr_t, size_t> live_;
  Ghosts ghosts_;
};

class Fuzz {
 public:
  Fuzz() {
    for (int i = 0; i < kStreams; ++i) {
      streams_.push_back(runtime::pool_stream(0, i % 2 == 0 ? 0 : -1));
    }
  }

  void run() {
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([this, i] { work(static_cast<unsigned>(i)); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    handed_over_.clear();
  }

  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] int failures() const { return out_of_memory_.load(); }

 private:
  void fail(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (error_.empty()) {
      error_ = text;
    }
    failed_.store(true);
  }

  void use_on(Live& block, const runtime::Stream& stream) {
    auto pending = std::make_shared<std::atomic<int>>(1);
    auto ticket = std::make_unique<Pending>(pending);
    FL_MUSA_CHECK(
        musaLaunchHostFunc(stream.handle(), &run_ticket, ticket.get()));
    static_cast<void>(ticket.release());
    block.uses.push_back({stream.handle(), std::move(pending)});
  }

  static size_t random_bytes(std::mt19937& random) {
    const double kind = std::uniform_real_distribution<>(0, 1)(random);
    const double top = kind < 0.7 ? 17 : kind < 0.95 ? 21 : 24.5;
    const double exponent = std::uniform_real_distribution<>(0, top)(random);
    return static_cast<size_t>(std::exp2(exponent));
  }

  std::optional<Live> allocate(std::mt19937& random) {
    const runtime::Stream& stream = any_stream(random);
    Live block;
    block.bytes = random_bytes(random);
    try {
      block.data = allocator::allocate(block.bytes, stream);
    } catch (const c10::OutOfMemoryError&) {
      ++out_of_memory_;
      return std::nullopt;
    }
    const auto at = reinterpret_cast<uintptr_t>(block.data.get());
    const auto wrong = model_.claim(at, block.bytes, stream.handle());
    if (wrong) {
      fail(*wrong);
    }
    if (random() % 4 == 0) {
      use_on(block, stream);
    }
    return block;
  }

  void free(Live block) {
    const auto at = reinterpret_cast<uintptr_t>(block.data.get());
    model_.release(at, block.bytes, std::move(block.uses));
    block.data.clear();
  }

  const runtime::Stream& any_stream(std::mt19937& random) {
    return streams_[random() % streams_.size()];
  }

  // Another thread frees it.
  void hand_over(Live block) {
    std::optional<Live> other;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      handed_over_.push_back(std::move(block));
      if (handed_over_.size() > kLivePerThread) {
        other = std::move(handed_over_.front());
        handed_over_.pop_front();
      }
    }
    if (other) {
      free(std::move(*other));
    }
  }

  void work(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Live> mine;
    for (int i = 0; i < kOperations / kThreads && !failed_.load(); ++i) {
      const unsigned choice = random() % 100;
      if (mine.empty() || (choice < 50 && mine.size() < kLivePerThread)) {
        std::optional<Live> block = allocate(random);
        if (block) {
          mine.push_back(std::move(*block));
        } else {
          free_all(mine);
        }
        continue;
      }
      std::swap(mine[random() % mine.size()], mine.back());
      if (choice < 70) {
        const runtime::Stream& stream = any_stream(random);
        use_on(mine.back(), stream);
        allocator::record_stream(mine.back().data, stream);
      } else {
        Live block = std::move(mine.back());
        mine.pop_back();
        choice < 90 ? free(std::move(block)) : hand_over(std::move(block));
      }
      if (choice == 99 && random() % 200 == 0) {
        allocator::empty_cache(0);
      }
    }
    free_all(mine);
  }

  void free_all(std::vector<Live>& blocks) {
    while (!blocks.empty()) {
      free(std::move(blocks.back()));
      blocks.pop_back();
    }
  }

  std::vector<runtime::Stream> streams_;
  Model model_;
  std::mutex mutex_;
  std::deque<Live> handed_over_;
  std::atomic<bool> failed_{false};
  std::atomic<int> out_of_memory_{0};
  std::string error_;
};

int64_t current(const c10::CachingAllocator::StatArray& stats) {
  return stats[0].current;
}

TEST(allocator_fuzz, live_blocks_never_overlap_nor_come_back_too_early) {
  const size_t total = runtime::memory_info(0).second;
  const double wanted = double(size_t{300} << 20);
  allocator::set_memory_fraction(
      std::min(1.0, wanted / static_cast<double>(total)),
      0);
  Fuzz fuzz;
  fuzz.run();
  EXPECT_EQ(fuzz.error(), "");
  runtime::synchronize_device(0);
  auto* allocator = allocator::device_allocator();
  allocator::empty_cache(0);
  const auto stats = allocator->getDeviceStats(0);
  EXPECT_EQ(current(stats.allocation), 0);
  EXPECT_EQ(current(stats.allocated_bytes), 0);
  EXPECT_EQ(current(stats.requested_bytes), 0);
  EXPECT_EQ(current(stats.active), 0);
  EXPECT_EQ(current(stats.active_bytes), 0);
  EXPECT_EQ(current(stats.inactive_split), 0);
  EXPECT_EQ(current(stats.inactive_split_bytes), 0);
  EXPECT_EQ(current(stats.segment), 0);
  EXPECT_EQ(current(stats.reserved_bytes), 0);
  std::printf(
      "allocations %lld, segments %lld, retries %lld, out of memory %d\n",
      static_cast<long long>(stats.allocation[0].allocated),
      static_cast<long long>(stats.segment[0].allocated),
      static_cast<long long>(stats.num_alloc_retries),
      fuzz.failures());
  allocator::set_memory_fraction(1.0, 0);
}

} // namespace
} // namespace torch_fl
