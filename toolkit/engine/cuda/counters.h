// SPDX-License-Identifier: Apache-2.0
// Counts that musaPortableCounter gives.
#pragma once

#include <atomic>
#include <cstdint>

namespace musa_standin::engine::cuda {

enum class Counter : uint8_t { kWaits, kNumber };

extern std::atomic<uint64_t> g_counters[static_cast<int>(Counter::kNumber)];

inline void count(Counter counter) {
  g_counters[static_cast<int>(counter)].fetch_add(1, std::memory_order_relaxed);
}

} // namespace musa_standin::engine::cuda
