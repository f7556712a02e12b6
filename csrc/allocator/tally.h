// SPDX-License-Identifier: Apache-2.0
// Counters that cost few instructions on the hot path and give torch's
// statistics when they are read.
#pragma once

#include <c10/core/Allocator.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace torch_fl::allocator {

enum class PoolKind : uint8_t { kSmall = 0, kLarge = 1 };

// Largest values: of the small pool, the large pool, both.
struct Peaks {
  std::array<int64_t, 3> values{};

  void note(int64_t small, int64_t large) {
    values[0] = std::max(values[0], small);
    values[1] = std::max(values[1], large);
    values[2] = std::max(values[2], small + large);
  }
};

// One quantity: what came and what went by pool, and the largest differences.
class Tally {
 public:
  void add(PoolKind kind, int64_t amount) {
    const auto mine = static_cast<size_t>(kind);
    came_[mine] += amount;
    const int64_t now = current(mine);
    if (now > peak_[mine]) {
      peak_[mine] = now;
    }
    const int64_t all = now + current(1 - mine);
    if (all > peak_of_both_) {
      peak_of_both_ = all;
    }
  }

  void subtract(PoolKind kind, int64_t amount) {
    went_[static_cast<size_t>(kind)] += amount;
  }

  [[nodiscard]] int64_t current() const { return current(0) + current(1); }

  void reset_accumulated() {
    came_before_ = came_;
    went_before_ = went_;
  }

  void reset_peak() {
    peak_ = {current(0), current(1)};
    peak_of_both_ = current();
  }

  // Torch's order: both, small, large.
  [[nodiscard]] c10::CachingAllocator::StatArray stats() const {
    c10::CachingAllocator::StatArray result{};
    for (size_t pool = 0; pool < 2; ++pool) {
      c10::CachingAllocator::Stat& stat = result[pool + 1];
      stat.current = current(pool);
      stat.peak = peak_[pool];
      stat.allocated = came_[pool] - came_before_[pool];
      stat.freed = went_[pool] - went_before_[pool];
      result[0].current += stat.current;
      result[0].allocated += stat.allocated;
      result[0].freed += stat.freed;
    }
    result[0].peak = peak_of_both_;
    return result;
  }

  [[nodiscard]] int64_t current(size_t pool) const {
    return came_[pool] - went_[pool];
  }

 private:
  std::array<int64_t, 2> came_{};
  std::array<int64_t, 2> went_{};
  std::array<int64_t, 2> peak_{};
  int64_t peak_of_both_ = 0;
  std::array<int64_t, 2> came_before_{};
  std::array<int64_t, 2> went_before_{};
};

} // namespace torch_fl::allocator
