// SPDX-License-Identifier: Apache-2.0
// A device's pool: segments from and to the device, recovery, blocks that wait
// for other streams.
#include "csrc/allocator/device_pool.h"

#include "csrc/allocator/out_of_memory.h"
#include "csrc/runtime/graph.h"

#include <string>
#include <tuple>

namespace torch_fl::allocator {
namespace {

constexpr PoolKind kind_of(size_t bytes) {
  return bytes <= kSmallLimit ? PoolKind::kSmall : PoolKind::kLarge;
}

size_t segment_bytes(size_t bytes) {
  if (bytes <= kSmallLimit) {
    return kSmallSegment;
  }
  return bytes < kLargeLimit ? kLargeSegment : round_up(bytes, kLargeUnit);
}

} // namespace

Block* DevicePool::allocate_slow(Lock& lock, StreamPool& pool, size_t bytes) {
  lock.unlock();
  const std::lock_guard<std::mutex> recovery(recovery_mutex_);
  lock.lock();
  // Another thread may have brought a segment meanwhile.
  Block* block = take(pool, bytes);
  if (block == nullptr) {
    block = try_segment(lock, pool, bytes);
  }
  if (block == nullptr) {
    ++counts_.num_alloc_retries;
    release_cached(lock);
    block = try_segment(lock, pool, bytes);
  }
  if (block == nullptr) {
    wait_for_events(lock);
    block = take(pool, bytes);
  }
  if (block == nullptr) {
    release_cached(lock);
    block = try_segment(lock, pool, bytes);
  }
  if (block == nullptr) {
    raise_out_of_memory(lock, bytes);
  }
  return block;
}

// A whole segment, or null if there is no memory for one.
Block* DevicePool::try_segment(Lock& lock, StreamPool& pool, size_t bytes) {
  const size_t segment = segment_bytes(bytes);
  const auto reserved = static_cast<size_t>(reserved_bytes_.current());
  if (segment > limit_ || reserved > limit_ - segment) {
    return nullptr;
  }
  lock.unlock();
  void* address = nullptr;
  musaError_t code = musaSuccess;
  {
    const runtime::DeviceScope scope(device_);
    const runtime::UnguardedScope unguarded;
    code = musaMalloc(&address, segment);
  }
  runtime::mark_used(device_);
  lock.lock();
  if (code == musaErrorMemoryAllocation) {
    static_cast<void>(musaGetLastError());
    return nullptr;
  }
  if (code != musaSuccess) {
    runtime::raise(code, "musaMalloc", __FILE__, __LINE__);
  }
  Block* block = new_block();
  block->address = address;
  block->bytes = segment;
  block->pool = &pool;
  block->device = device_;
  block->kind = kind_of(bytes);
  ++pool.segments;
  if (block->kind == PoolKind::kSmall) {
    pool.small_segments.push_back(block);
  }
  ++counts_.num_device_alloc;
  if (bytes >= max_split_bytes_) {
    counts_.oversize_segments.increase(1);
  }
  segments_.add(block->kind, 1);
  reserved_bytes_.add(block->kind, static_cast<int64_t>(segment));
  return block;
}

void DevicePool::collect(StreamPools& pools, std::vector<Block*>& whole) {
  for (auto& entry : pools) {
    StreamPool& pool = *entry.second;
    merge_small(pool, &whole);
    while (Block* recent = pool.recent.take_any()) {
      merge_large(pool, recent);
    }
    collect_large(pool, whole);
  }
}

void DevicePool::collect_large(StreamPool& pool, std::vector<Block*>& whole) {
  const size_t before = whole.size();
  for (Block* block : pool.large.blocks()) {
    if (!block->is_split()) {
      whole.push_back(block);
    }
  }
  for (size_t i = before; i < whole.size(); ++i) {
    pool.large.remove(whole[i]);
  }
}

// Gives every unused segment back. musaFree waits for the device, so that work
// which still uses one of them is done by then.
void DevicePool::release_cached(Lock& lock) {
  if (runtime::captures_underway()) {
    return;
  }
  std::vector<Block*> whole;
  collect(pools_, whole);
  for (const std::unique_ptr<PrivatePool>& pool : private_) {
    if (pool->graphs == 0) {
      collect(pool->streams, whole);
    }
  }
  for (const Block* block : whole) {
    --block->pool->segments;
  }
  drop_private();
  if (whole.empty()) {
    return;
  }
  lock.unlock();
  {
    const runtime::DeviceScope scope(device_);
    for (const Block* block : whole) {
      FL_MUSA_WARN(musaFree(block->address));
    }
  }
  lock.lock();
  for (Block* block : whole) {
    segments_.subtract(block->kind, 1);
    reserved_bytes_.subtract(block->kind, static_cast<int64_t>(block->bytes));
    ++counts_.num_device_free;
    if (block->bytes >= max_split_bytes_) {
      counts_.oversize_segments.decrease(1);
    }
    recycle(block);
  }
}

void DevicePool::raise_out_of_memory(Lock& lock, size_t bytes) {
  ++counts_.num_ooms;
  MemoryNumbers numbers;
  numbers.device = device_;
  numbers.asked = bytes;
  numbers.allowed = limit_;
  numbers.allocated = static_cast<size_t>(allocated_bytes_.current());
  numbers.reserved = static_cast<size_t>(reserved_bytes_.current());
  lock.unlock();
  std::tie(numbers.free, numbers.total) = runtime::memory_info(device_);
  c10::reportOutOfMemoryToProfiler(
      static_cast<int64_t>(bytes),
      numbers.allocated,
      numbers.reserved,
      c10::Device(c10::DeviceType::PrivateUse1, device_));
  TORCH_CHECK_WITH(OutOfMemoryError, false, out_of_memory_text(numbers));
}

// ---- blocks that other streams still use

// One event for each user. Where none can be recorded, as on a stream that was
// destroyed, waits for the device instead: the memory must not be lost.
DevicePool::Events DevicePool::record_users(Block* block) noexcept {
  Events events;
  const std::vector<runtime::Stream> users = std::move(block->users);
  block->users.clear();
  for (const runtime::Stream& user : users) {
    try {
      events.emplace_back(user);
      block->users.push_back(user);
    } catch (const c10::Error& error) {
      runtime::warn_text(
          std::string("a stream that used this memory cannot be waited for, "
                      "so its device is: ") +
          error.what_without_backtrace());
      const runtime::DeviceScope scope(user.device());
      FL_MUSA_WARN(musaDeviceSynchronize());
    }
  }
  return events;
}

void DevicePool::wait_for_users(Block* block, Events& events) {
  block->pending_events = static_cast<uint32_t>(events.size());
  pending_count_ += events.size();
  for (size_t i = 0; i < events.size(); ++i) {
    pending_[block->users[i].handle()].push_back({std::move(events[i]), block});
  }
  block->users.clear();
}

void DevicePool::process_events() {
  if (runtime::captures_underway()) {
    return;
  }
  for (auto entry = pending_.begin(); entry != pending_.end();) {
    std::deque<PendingFree>& queue = entry->second;
    while (!queue.empty() && queue.front().event.query()) {
      const PendingFree done = std::move(queue.front());
      queue.pop_front();
      --pending_count_;
      finish(done);
    }
    entry = queue.empty() ? pending_.erase(entry) : std::next(entry);
  }
}

void DevicePool::wait_for_events(Lock& lock) {
  if (runtime::captures_underway()) {
    return;
  }
  ++counts_.num_sync_all_streams;
  Pending taken;
  taken.swap(pending_);
  pending_count_ = 0;
  const auto finish_all = [&] {
    lock.lock();
    for (const auto& entry : taken) {
      for (const PendingFree& pending : entry.second) {
        finish(pending);
      }
    }
  };
  lock.unlock();
  try {
    for (const auto& entry : taken) {
      entry.second.back().event.synchronize();
    }
  } catch (...) {
    // The device has failed: nothing runs on it that could use the memory.
    finish_all();
    throw;
  }
  finish_all();
}

void DevicePool::finish(const PendingFree& pending) {
  Block* block = pending.block;
  if (--block->pending_events == 0) {
    waiting_.subtract(block->kind, 1);
    waiting_bytes_.subtract(block->kind, static_cast<int64_t>(block->bytes));
    put_back(block);
  }
}

} // namespace torch_fl::allocator
