// SPDX-License-Identifier: Apache-2.0
// Allocation, reuse across streams, recovery and statistics of one device.
#include "csrc/allocator/device_pool.h"

#include "csrc/allocator/out_of_memory.h"

#include <c10/core/AllocatorConfig.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>

namespace torch_fl::allocator {
namespace {

using Config = c10::CachingAllocator::AcceleratorAllocatorConfig;

// Larger requests are a mistake, and their rounding would overflow.
constexpr size_t kLargestRequest = size_t{1} << 60;

constexpr size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

constexpr PoolKind kind_of(size_t bytes) {
  return bytes <= kSmallLimit ? PoolKind::kSmall : PoolKind::kLarge;
}

size_t segment_bytes(size_t bytes) {
  if (bytes <= kSmallLimit) {
    return kSmallSegment;
  }
  return bytes < kLargeLimit ? kLargeSegment : round_up(bytes, kLargeUnit);
}

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

Block* DevicePool::allocate(size_t bytes, musaStream_t stream) {
  Lock lock(mutex_);
  if (C10_UNLIKELY(bytes > kLargestRequest)) {
    raise_out_of_memory(lock, bytes);
  }
  if (C10_UNLIKELY(pending_count_ != 0)) {
    process_events();
  }
  const size_t size = rounded(bytes);
  StreamPool& pool = pool_of(stream);
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

void DevicePool::free(Block* block) noexcept {
  // Recording may have to wait for room in a stream: not under the mutex.
  Events events;
  if (C10_UNLIKELY(!block->users.empty())) {
    events = record_users(block);
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
  if (C10_LIKELY(events.empty())) {
    put_back(block);
    return;
  }
  waiting_.add(block->kind, 1);
  waiting_bytes_.add(block->kind, static_cast<int64_t>(block->bytes));
  block->pending_events = static_cast<uint32_t>(events.size());
  pending_count_ += events.size();
  for (size_t i = 0; i < events.size(); ++i) {
    pending_[block->users[i].handle()].push_back({std::move(events[i]), block});
  }
  block->users.clear();
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
  std::unique_ptr<StreamPool>& pool = pools_[stream];
  if (pool == nullptr) {
    pool = std::make_unique<StreamPool>(stream);
  }
  last_pool_ = pool.get();
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

// ---- memory from and to the device

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
  std::vector<Block*> whole;
  for (auto& entry : pools_) {
    StreamPool& pool = *entry.second;
    merge_small(pool, &whole);
    while (Block* recent = pool.recent.take_any()) {
      merge_large(pool, recent);
    }
    collect_large(pool, whole);
  }
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
  std::vector<runtime::Stream> users = std::move(block->users);
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

void DevicePool::process_events() {
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

// ---- limits and statistics

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
