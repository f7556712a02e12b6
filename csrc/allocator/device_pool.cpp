// SPDX-License-Identifier: Apache-2.0
// A device's pool: allocation and the free lists.
#include "csrc/allocator/device_pool.h"

#include "csrc/runtime/graph.h"

#include <c10/core/AllocatorConfig.h>

#include <algorithm>
#include <cstdlib>
#include <exception>

namespace torch_fl::allocator {
namespace {

using Config = c10::CachingAllocator::AcceleratorAllocatorConfig;

// Larger requests are a mistake, and their rounding would overflow.
constexpr size_t kLargestRequest = size_t{1} << 60;

// Torch parses its variable at the first look; its own errors do not name it.
void check_settings() {
  try {
    static_cast<void>(Config::instance());
  } catch (const std::exception& error) {
    const auto* detailed = dynamic_cast<const c10::Error*>(&error);
    for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
      const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
      TORCH_CHECK_VALUE(
          value == nullptr,
          name,
          "=",
          value,
          " is malformed (",
          detailed != nullptr ? detailed->what_without_backtrace()
                              : error.what(),
          "): pairs such as max_split_size_mb:128 are allowed.");
    }
    throw;
  }
}

size_t checked_max_split_size() {
  check_settings();
  return Config::max_split_size();
}

bool has_power2_rounding() {
  const std::vector<size_t>& divisions = Config::roundup_power2_divisions();
  return std::any_of(divisions.begin(), divisions.end(), [](size_t count) {
    return count > 0;
  });
}

// Rounds to the next of `count` equal steps between two powers of two.
size_t round_to_steps(size_t bytes, size_t count) {
  size_t power = kUnit;
  while (power * 2 <= bytes) {
    power *= 2;
  }
  return round_up(bytes, std::max(power / count, kUnit));
}

} // namespace

DevicePool::DevicePool(c10::DeviceIndex device)
    : device_(device), max_split_bytes_(checked_max_split_size()),
      max_rounding_bytes_(Config::max_non_split_rounding_size()),
      rounds_to_powers_(has_power2_rounding()) {
  counts_.max_split_size = static_cast<int64_t>(
      std::min<size_t>(max_split_bytes_, std::numeric_limits<int64_t>::max()));
}

size_t DevicePool::rounded(size_t bytes) const {
  if (bytes <= kUnit) {
    return kUnit;
  }
  if (C10_UNLIKELY(rounds_to_powers_)) {
    const size_t count = Config::roundup_power2_divisions(bytes);
    if (count > 1 && bytes > kUnit * count) {
      return round_to_steps(bytes, count);
    }
  }
  return round_up(bytes, kUnit);
}

C10_ALWAYS_INLINE Block*
DevicePool::allocate_from(Lock& lock, StreamPool& pool, size_t bytes) {
  if (C10_UNLIKELY(bytes > kLargestRequest)) {
    raise_out_of_memory(lock, bytes);
  }
  const size_t size = rounded(bytes);
  Block* block = take(pool, size);
  if (C10_UNLIKELY(block == nullptr)) {
    block = allocate_slow(lock, pool, size);
  }
  const size_t rest = block->bytes - size;
  if (block->kind == PoolKind::kSmall
          ? rest >= kUnit
          : size < max_split_bytes_ && rest > kSmallLimit) {
    split_off(block, size);
  }
  block->requested = bytes;
  const auto held = static_cast<int64_t>(block->bytes);
  allocations_.add(block->kind, 1);
  allocated_bytes_.add(block->kind, held);
  requested_bytes_.add(block->kind, static_cast<int64_t>(bytes));
  if (C10_UNLIKELY(pending_count_ != 0)) {
    note_active_peaks();
  }
  if (C10_UNLIKELY(size >= max_split_bytes_)) {
    counts_.oversize_allocations.increase(1);
  }
  return block;
}

Block* DevicePool::allocate(size_t bytes, musaStream_t stream) {
  Lock lock(mutex_);
  if (C10_UNLIKELY(pending_count_ != 0)) {
    process_events();
  }
  return allocate_from(lock, pool_of(stream), bytes);
}

Block* DevicePool::allocate_beside(size_t bytes, uint64_t capture) {
  Lock lock(mutex_);
  for (const Capture& entry : captures_) {
    if (entry.id == capture) {
      return allocate_from(
          lock,
          DevicePool::entry(entry.pool->streams, nullptr),
          bytes);
    }
  }
  TORCH_CHECK(false, "the capture has no pool of memory.");
}

void DevicePool::free(Block* block) noexcept {
  // Recording may have to wait for room in a stream: not under the mutex.
  Events events;
  bool deferred = false;
  if (C10_UNLIKELY(!block->users.empty())) {
    deferred = runtime::captures_underway();
    if (!deferred) {
      events = record_users(block);
    }
  }
  const Lock lock(mutex_);
  allocations_.subtract(block->kind, 1);
  allocated_bytes_.subtract(block->kind, static_cast<int64_t>(block->bytes));
  requested_bytes_.subtract(
      block->kind,
      static_cast<int64_t>(block->requested));
  if (C10_UNLIKELY(block->bytes >= max_split_bytes_)) {
    counts_.oversize_allocations.decrease(1);
  }
  if (C10_LIKELY(events.empty() && !deferred)) {
    put_back(block);
    return;
  }
  waiting_.add(block->kind, 1);
  waiting_bytes_.add(block->kind, static_cast<int64_t>(block->bytes));
  if (deferred) {
    deferred_.push_back(block);
  } else {
    wait_for_users(block, events);
  }
}

void DevicePool::record_stream(Block* block, const runtime::Stream& stream) {
  if (stream.handle() == block->pool->stream && stream.device() == device_) {
    return; // ordered anyway
  }
  const Lock lock(mutex_);
  const std::vector<runtime::Stream>& users = block->users;
  if (std::find(users.begin(), users.end(), stream) == users.end()) {
    block->users.push_back(stream);
  }
}

void DevicePool::empty_cache() {
  const std::lock_guard<std::mutex> recovery(recovery_mutex_);
  Lock lock(mutex_);
  process_events();
  release_cached(lock);
}

// ---- free lists

StreamPool& DevicePool::pool_of(musaStream_t stream) {
  if (C10_LIKELY(last_pool_ != nullptr && last_pool_->stream == stream)) {
    return *last_pool_;
  }
  if (C10_UNLIKELY(!captures_.empty())) {
    StreamPools* captured = captured_pools(stream);
    return entry(captured != nullptr ? *captured : pools_, stream);
  }
  last_pool_ = &entry(pools_, stream);
  return *last_pool_;
}

StreamPool& DevicePool::entry(StreamPools& pools, musaStream_t stream) {
  std::unique_ptr<StreamPool>& pool = pools[stream];
  if (pool == nullptr) {
    pool = std::make_unique<StreamPool>(stream);
  }
  return *pool;
}

Block* DevicePool::take(StreamPool& pool, size_t bytes) {
  Block* block = nullptr;
  if (bytes <= kSmallLimit) {
    block = pool.small.take(bytes);
    if (C10_UNLIKELY(block == nullptr && !pool.small_segments.empty())) {
      merge_small(pool);
      block = pool.small.take(bytes);
    }
  } else {
    block = pool.recent.take(bytes);
    if (block == nullptr) {
      block = take_large(pool, bytes);
    }
  }
  if (block != nullptr) {
    count_inactive(block, false);
  }
  return block;
}

Block* DevicePool::take_large(StreamPool& pool, size_t bytes) {
  while (Block* recent = pool.recent.take_any()) {
    merge_large(pool, recent);
  }
  Block* block = pool.large.find(bytes);
  if (block == nullptr) {
    return nullptr;
  }
  // Oversize blocks are not split, so they serve only requests near their size.
  if (block->bytes >= max_split_bytes_ &&
      (bytes < max_split_bytes_ ||
       block->bytes - bytes >= max_rounding_bytes_)) {
    return nullptr;
  }
  pool.large.remove(block);
  return block;
}

void DevicePool::count_inactive(const Block* block, bool more) {
  if (!block->is_split()) {
    return;
  }
  const auto bytes = static_cast<int64_t>(block->bytes);
  if (more) {
    inactive_split_.add(block->kind, 1);
    inactive_split_bytes_.add(block->kind, bytes);
  } else {
    inactive_split_.subtract(block->kind, 1);
    inactive_split_bytes_.subtract(block->kind, bytes);
  }
}

void DevicePool::split_off(Block* block, size_t bytes) {
  Block* rest = new_block();
  rest->address = static_cast<char*>(block->address) + bytes;
  rest->bytes = block->bytes - bytes;
  rest->pool = block->pool;
  rest->device = block->device;
  rest->kind = block->kind;
  rest->previous = block;
  rest->next = block->next;
  if (rest->next != nullptr) {
    rest->next->previous = rest;
  }
  block->next = rest;
  block->bytes = bytes;
  count_inactive(rest, true);
  if (rest->kind == PoolKind::kSmall) {
    rest->pool->small.put(rest);
  } else {
    rest->pool->large.put(rest);
  }
}

void DevicePool::put_back(Block* block) {
  count_inactive(block, true);
  StreamPool& pool = *block->pool;
  if (block->kind == PoolKind::kSmall) {
    pool.small.put(block);
  } else if (!pool.recent.put(block)) {
    merge_large(pool, block);
  }
}

// Puts a block into the ordered set, together with its free neighbours there.
void DevicePool::merge_large(StreamPool& pool, Block* block) {
  count_inactive(block, false);
  Block* next = block->next;
  if (next != nullptr && next->state == BlockState::kFree) {
    count_inactive(next, false);
    pool.large.remove(next);
    merge(block, next);
  }
  Block* previous = block->previous;
  if (previous != nullptr && previous->state == BlockState::kFree) {
    count_inactive(previous, false);
    pool.large.remove(previous);
    block = merge(previous, block);
  }
  pool.large.put(block);
  count_inactive(block, true);
}

Block* DevicePool::merge(Block* left, Block* right) {
  left->bytes += right->bytes;
  left->next = right->next;
  if (left->next != nullptr) {
    left->next->previous = left;
  }
  recycle(right);
  return left;
}

// Merges free neighbours of all small segments. With `whole`, moves segments
// that are free from end to end there instead of into the lists.
void DevicePool::merge_small(StreamPool& pool, std::vector<Block*>* whole) {
  pool.small.clear();
  std::vector<Block*> kept;
  for (Block* first : pool.small_segments) {
    for (Block* block = first; block != nullptr; block = block->next) {
      if (block->state == BlockState::kInUse) {
        continue;
      }
      count_inactive(block, false);
      while (block->next != nullptr &&
             block->next->state != BlockState::kInUse) {
        count_inactive(block->next, false);
        merge(block, block->next);
      }
      if (whole != nullptr && !block->is_split()) {
        block->state = BlockState::kInUse;
        whole->push_back(block);
        break;
      }
      count_inactive(block, true);
      pool.small.put(block);
    }
    if (whole == nullptr || whole->empty() || whole->back() != first) {
      kept.push_back(first);
    }
  }
  pool.small_segments = std::move(kept);
}

Block* DevicePool::new_block() {
  if (spare_ == nullptr) {
    return new Block();
  }
  Block* block = spare_;
  spare_ = block->next_free;
  block->next_free = nullptr;
  return block;
}

void DevicePool::recycle(Block* block) {
  block->state = BlockState::kInUse;
  block->previous = nullptr;
  block->next = nullptr;
  block->next_free = spare_;
  spare_ = block;
}

} // namespace torch_fl::allocator
