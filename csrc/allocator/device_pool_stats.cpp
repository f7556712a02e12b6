// SPDX-License-Identifier: Apache-2.0
// A device's pool: limits and statistics.
#include "csrc/allocator/device_pool.h"

#include <algorithm>
#include <array>

namespace torch_fl::allocator {
namespace {

// What is allocated or waits for a stream. Without anything that waits its
// peaks are those of what is allocated.
c10::CachingAllocator::StatArray
active_stats(const Tally& allocated, const Tally& waiting, const Peaks& peaks) {
  c10::CachingAllocator::StatArray result = allocated.stats();
  const c10::CachingAllocator::StatArray more = waiting.stats();
  constexpr std::array<size_t, 3> kPlaces = {2, 0, 1};
  for (size_t pool = 0; pool < result.size(); ++pool) {
    c10::CachingAllocator::Stat& stat = result[pool];
    stat.current += more[pool].current;
    stat.freed += more[pool].freed - more[pool].allocated;
    stat.peak = std::max(stat.peak, peaks.values[kPlaces[pool]]);
  }
  return result;
}

} // namespace

void DevicePool::set_limit(size_t bytes) {
  const Lock lock(mutex_);
  limit_ = bytes;
}

void DevicePool::note_active_peaks() {
  active_peaks_.note(
      allocations_.current(0) + waiting_.current(0),
      allocations_.current(1) + waiting_.current(1));
  active_bytes_peaks_.note(
      allocated_bytes_.current(0) + waiting_bytes_.current(0),
      allocated_bytes_.current(1) + waiting_bytes_.current(1));
}

c10::CachingDeviceAllocator::DeviceStats DevicePool::stats() {
  const Lock lock(mutex_);
  c10::CachingDeviceAllocator::DeviceStats result = counts_;
  result.allocation = allocations_.stats();
  result.allocated_bytes = allocated_bytes_.stats();
  result.requested_bytes = requested_bytes_.stats();
  result.active = active_stats(allocations_, waiting_, active_peaks_);
  result.active_bytes =
      active_stats(allocated_bytes_, waiting_bytes_, active_bytes_peaks_);
  result.inactive_split = inactive_split_.stats();
  result.inactive_split_bytes = inactive_split_bytes_.stats();
  result.segment = segments_.stats();
  result.reserved_bytes = reserved_bytes_.stats();
  return result;
}

void DevicePool::reset_accumulated_stats() {
  const Lock lock(mutex_);
  for (Tally* tally :
       {&allocations_,
        &allocated_bytes_,
        &requested_bytes_,
        &waiting_,
        &waiting_bytes_,
        &inactive_split_,
        &inactive_split_bytes_,
        &segments_,
        &reserved_bytes_}) {
    tally->reset_accumulated();
  }
  counts_.num_alloc_retries = 0;
  counts_.num_ooms = 0;
  counts_.num_sync_all_streams = 0;
  counts_.num_device_alloc = 0;
  counts_.num_device_free = 0;
  counts_.oversize_allocations.reset_accumulated();
  counts_.oversize_segments.reset_accumulated();
}

void DevicePool::reset_peak_stats() {
  const Lock lock(mutex_);
  for (Tally* tally :
       {&allocations_,
        &allocated_bytes_,
        &requested_bytes_,
        &waiting_,
        &waiting_bytes_,
        &inactive_split_,
        &inactive_split_bytes_,
        &segments_,
        &reserved_bytes_}) {
    tally->reset_peak();
  }
  active_peaks_ = {};
  active_bytes_peaks_ = {};
  note_active_peaks();
  counts_.oversize_allocations.reset_peak();
  counts_.oversize_segments.reset_peak();
}

std::pair<size_t, size_t> DevicePool::totals() {
  const Lock lock(mutex_);
  return {
      static_cast<size_t>(allocated_bytes_.current()),
      static_cast<size_t>(reserved_bytes_.current())};
}

} // namespace torch_fl::allocator
