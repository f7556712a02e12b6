// SPDX-License-Identifier: Apache-2.0
// All cached memory of one device.
#pragma once

#include "csrc/allocator/block.h"
#include "csrc/allocator/spin_mutex.h"
#include "csrc/runtime/event.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torch_fl::allocator {

// One mutex guards everything; nothing that may wait for the device is called
// under it, since a host function on the device may free memory.
class DevicePool {
 public:
  explicit DevicePool(c10::DeviceIndex device);

  // Throws c10::OutOfMemoryError.
  Block* allocate(size_t bytes, musaStream_t stream);
  void free(Block* block) noexcept;
  void record_stream(Block* block, const runtime::Stream& stream);
  void empty_cache();

  // Waits until no other thread is about to disturb a capture.
  void settle();
  // What streams of this capture allocate comes from the private pool, which
  // is made if there is none of this id.
  void begin_capture(c10::MempoolId_t pool, uint64_t capture);
  void end_capture(uint64_t capture);
  // From the capture's private pool, but from no memory that its work uses.
  Block* allocate_beside(size_t bytes, uint64_t capture);
  // A graph that began with the pool is gone.
  void release_private(c10::MempoolId_t pool);
  // Records events for what was freed during captures.
  void free_deferred() noexcept;

  void set_limit(size_t bytes);
  c10::CachingDeviceAllocator::DeviceStats stats();
  void reset_accumulated_stats();
  void reset_peak_stats();
  // {allocated, reserved} bytes.
  std::pair<size_t, size_t> totals();

 private:
  using Lock = std::unique_lock<SpinMutex>;
  using Events = std::vector<runtime::Event>;
  struct PendingFree {
    runtime::Event event;
    Block* block;
  };
  using Pending = std::unordered_map<musaStream_t, std::deque<PendingFree>>;

  [[nodiscard]] size_t rounded(size_t bytes) const;
  Block* allocate_from(Lock& lock, StreamPool& pool, size_t bytes);
  StreamPool& pool_of(musaStream_t stream);
  static StreamPool& entry(StreamPools& pools, musaStream_t stream);
  StreamPools* captured_pools(musaStream_t stream);
  Block* take(StreamPool& pool, size_t bytes);
  Block* take_large(StreamPool& pool, size_t bytes);
  void split_off(Block* block, size_t bytes);
  void put_back(Block* block);
  Block* merge(Block* left, Block* right);
  void merge_small(StreamPool& pool, std::vector<Block*>* whole = nullptr);
  void merge_large(StreamPool& pool, Block* block);
  void count_inactive(const Block* block, bool more);
  void note_active_peaks();

  Block* allocate_slow(Lock& lock, StreamPool& pool, size_t bytes);
  Block* try_segment(Lock& lock, StreamPool& pool, size_t bytes);
  void release_cached(Lock& lock);
  void collect(StreamPools& pools, std::vector<Block*>& whole);
  static void collect_large(StreamPool& pool, std::vector<Block*>& whole);
  void drop_private();
  [[noreturn]] void raise_out_of_memory(Lock& lock, size_t bytes);

  static Events record_users(Block* block) noexcept;
  void wait_for_users(Block* block, Events& events);
  void process_events();
  void wait_for_events(Lock& lock);
  void finish(const PendingFree& pending);

  Block* new_block();
  void recycle(Block* block);

  // Taken before mutex_ by whoever needs memory from the device, so that what
  // one thread releases for itself is not taken by another.
  std::mutex recovery_mutex_;
  SpinMutex mutex_;
  const c10::DeviceIndex device_;
  size_t limit_ = std::numeric_limits<size_t>::max();
  size_t max_split_bytes_;
  size_t max_rounding_bytes_;
  bool rounds_to_powers_;
  StreamPool* last_pool_ = nullptr;
  StreamPools pools_;
  struct Capture {
    uint64_t id;
    PrivatePool* pool;
  };
  std::vector<Capture> captures_;
  std::vector<std::unique_ptr<PrivatePool>> private_;
  // Freed during a capture, with users.
  std::vector<Block*> deferred_;
  Pending pending_;
  size_t pending_count_ = 0;
  Block* spare_ = nullptr;

  Tally allocations_;
  Tally allocated_bytes_;
  Tally requested_bytes_;
  // Given back but still used by another stream. With the above that is what
  // torch calls active; its peaks are kept apart only while something waits.
  Tally waiting_;
  Tally waiting_bytes_;
  Peaks active_peaks_;
  Peaks active_bytes_peaks_;
  Tally inactive_split_;
  Tally inactive_split_bytes_;
  Tally segments_;
  Tally reserved_bytes_;
  // The plain counters of it are used.
  c10::CachingDeviceAllocator::DeviceStats counts_;
};

} // namespace torch_fl::allocator
