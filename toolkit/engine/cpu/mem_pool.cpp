// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation.
#include "toolkit/engine/cpu/mem_pool.h"

#include "toolkit/engine/cpu/device.h"
#include "toolkit/engine/cpu/event.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/fault.h"

#include <algorithm>
#include <set>

namespace musa_standin::engine::cpu {
namespace {

using Lock = std::lock_guard<std::mutex>;

struct LivePools {
  std::mutex mutex;
  std::set<const void*> pools;
  std::vector<MemPool*> retired; // destroyed, with live blocks
};

LivePools& live_pools() {
  static auto* const live = new LivePools;
  return *live;
}

std::vector<MemPool*> pools_of(Device& device) {
  const Lock lock(live_pools().mutex);
  return device.pools;
}

} // namespace

void* MemPool::take_free(size_t size, const Stream& stream) {
  // A block much larger than wanted is left for others.
  const size_t limit = std::max(2 * size, size + (size_t{1} << 20));
  for (auto at = free_.lower_bound(size);
       at != free_.end() && at->first <= limit;
       ++at) {
    const FreeBlock& block = at->second;
    if (block.mark.stream != &stream && !reached(block.mark) &&
        !planted("early_reuse")) {
      continue;
    }
    const uintptr_t begin = block.begin;
    live_[begin] = at->first;
    used_ += at->first;
    free_.erase(at);
    return reinterpret_cast<void*>(begin);
  }
  return nullptr;
}

void* MemPool::take_new(size_t size) {
  if (max_bytes_ != 0 && reserved_ + size > max_bytes_) {
    throw Error(
        musaErrorMemoryAllocation,
        "the memory pool is at its largest size");
  }
  void* pointer = allocate_device(device_, size, this);
  live_[reinterpret_cast<uintptr_t>(pointer)] = size;
  reserved_ += size;
  used_ += size;
  return pointer;
}

void* MemPool::allocate(size_t bytes, Stream& stream) {
  const size_t size = Heap::rounded(bytes);
  if (size < bytes) {
    throw Error(musaErrorMemoryAllocation, "the size is beyond all memory");
  }
  const Lock lock(mutex_);
  void* pointer = take_free(size, stream);
  if (pointer == nullptr) {
    try {
      pointer = take_new(size);
    } catch (const Error&) {
      // What nobody uses any more may make the room.
      trim_locked(0);
      pointer = take_new(size);
    }
  }
  used_high_ = std::max(used_high_, used_);
  reserved_high_ = std::max(reserved_high_, reserved_);
  return pointer;
}

void MemPool::release(void* pointer, const Mark& mark) {
  bool last = false;
  {
    const Lock lock(mutex_);
    const auto block = live_.find(reinterpret_cast<uintptr_t>(pointer));
    if (block == live_.end()) {
      throw Error(
          musaErrorInvalidValue,
          "the pointer is not live memory of a memory pool");
    }
    used_ -= block->second;
    free_.emplace(block->second, FreeBlock{block->first, mark});
    live_.erase(block);
    last = closed_;
  }
  if (last) {
    mark.stream->wait_until(mark.task);
    trim(0);
  }
}

void MemPool::forget(void* pointer) {
  const Lock lock(mutex_);
  const auto block = live_.find(reinterpret_cast<uintptr_t>(pointer));
  if (block != live_.end()) {
    used_ -= block->second;
    reserved_ -= block->second;
    live_.erase(block);
  }
}

void MemPool::trim_locked(size_t keep_bytes) {
  for (auto at = free_.begin(); at != free_.end() && reserved_ > keep_bytes;) {
    if (!reached(at->second.mark)) {
      ++at;
      continue;
    }
    free_device(device_, reinterpret_cast<void*>(at->second.begin));
    reserved_ -= at->first;
    at = free_.erase(at);
  }
}

void MemPool::trim(size_t keep_bytes) {
  const Lock lock(mutex_);
  trim_locked(keep_bytes);
}

void MemPool::trim_to_threshold() {
  const Lock lock(mutex_);
  if (!free_.empty()) {
    trim_locked(threshold_);
  }
}

void MemPool::clear() {
  const Lock lock(mutex_);
  free_.clear();
  live_.clear();
  reserved_ = 0;
  used_ = 0;
}

bool MemPool::close() {
  std::vector<Mark> marks;
  {
    const Lock lock(mutex_);
    closed_ = true;
    for (const auto& entry : free_) {
      marks.push_back(entry.second.mark);
    }
  }
  for (const Mark& mark : marks) {
    mark.stream->wait_until(mark.task);
  }
  const Lock lock(mutex_);
  trim_locked(0);
  return live_.empty() && free_.empty();
}

void MemPool::set_attribute(musaMemPoolAttr attribute, const void* value) {
  const Lock lock(mutex_);
  switch (attribute) {
  case musaMemPoolReuseFollowEventDependencies:
  case musaMemPoolReuseAllowOpportunistic:
  case musaMemPoolReuseAllowInternalDependencies:
    reuse_[attribute - 1] = *static_cast<const int*>(value);
    return;
  case musaMemPoolAttrReleaseThreshold:
    threshold_ = *static_cast<const uint64_t*>(value);
    return;
  case musaMemPoolAttrReservedMemHigh:
  case musaMemPoolAttrUsedMemHigh:
    if (*static_cast<const uint64_t*>(value) != 0) {
      throw Error(
          musaErrorInvalidValue,
          "a high-water mark can only be set to 0");
    }
    (attribute == musaMemPoolAttrUsedMemHigh ? used_high_ : reserved_high_) =
        attribute == musaMemPoolAttrUsedMemHigh ? used_ : reserved_;
    return;
  default:
    throw Error(musaErrorInvalidValue, "the pool's attribute cannot be set");
  }
}

void MemPool::attribute(musaMemPoolAttr attribute, void* value) {
  const Lock lock(mutex_);
  auto* wide = static_cast<uint64_t*>(value);
  switch (attribute) {
  case musaMemPoolReuseFollowEventDependencies:
  case musaMemPoolReuseAllowOpportunistic:
  case musaMemPoolReuseAllowInternalDependencies:
    *static_cast<int*>(value) = reuse_[attribute - 1];
    return;
  case musaMemPoolAttrReleaseThreshold:
    *wide = threshold_;
    return;
  case musaMemPoolAttrReservedMemCurrent:
    *wide = reserved_;
    return;
  case musaMemPoolAttrReservedMemHigh:
    *wide = reserved_high_;
    return;
  case musaMemPoolAttrUsedMemCurrent:
    *wide = used_;
    return;
  case musaMemPoolAttrUsedMemHigh:
    *wide = used_high_;
    return;
  }
  throw Error(musaErrorInvalidValue, "the pool has no such attribute");
}

void reset_pools(Device& device) {
  for (MemPool* pool : device.pools) {
    pool->clear();
  }
  LivePools& live = live_pools();
  const Lock lock(live.mutex);
  for (size_t i = 1; i < device.pools.size(); ++i) {
    live.pools.erase(device.pools[i]);
    live.retired.push_back(device.pools[i]);
  }
  device.pools.resize(1);
  device.current_pool = device.pools.front();
}

void trim_pools(Device& device) {
  for (MemPool* pool : pools_of(device)) {
    pool->trim_to_threshold();
  }
}

void empty_pools(Device& device) {
  for (MemPool* pool : pools_of(device)) {
    pool->trim(0);
  }
}

MemPool& default_pool(Device& device) {
  const Lock lock(live_pools().mutex);
  return *device.pools.front();
}

MemPool& current_pool(Device& device) {
  const Lock lock(live_pools().mutex);
  return *device.current_pool;
}

void set_current_pool(Device& device, MemPool& pool) {
  if (&pool.device() != &device) {
    throw Error(musaErrorInvalidValue, "the memory pool is another device's");
  }
  const Lock lock(live_pools().mutex);
  device.current_pool = &pool;
}

MemPool& find_pool(musaMemPool_t handle) {
  LivePools& live = live_pools();
  const Lock lock(live.mutex);
  auto* pool = static_cast<MemPool*>(static_cast<engine::MemPool*>(handle));
  if (live.pools.count(pool) == 0) {
    throw Error(
        musaErrorInvalidValue,
        "the memory pool's handle is none, or the pool was destroyed");
  }
  return *pool;
}

MemPool& make_pool(Device& device, size_t max_bytes) {
  auto* pool = new MemPool(device);
  pool->set_max_bytes(max_bytes);
  LivePools& live = live_pools();
  const Lock lock(live.mutex);
  live.pools.insert(pool);
  device.pools.push_back(pool);
  device.current_pool =
      device.current_pool == nullptr ? pool : device.current_pool;
  return *pool;
}

// With live blocks the object stays: they name it.
void destroy_pool(MemPool& pool) {
  Device& device = pool.device();
  {
    LivePools& live = live_pools();
    const Lock lock(live.mutex);
    if (&pool == device.pools.front()) {
      throw Error(
          musaErrorInvalidValue,
          "a device's default pool stays with it");
    }
    live.pools.erase(&pool);
    device.pools.erase(
        std::find(device.pools.begin(), device.pools.end(), &pool));
    if (device.current_pool == &pool) {
      device.current_pool = device.pools.front();
    }
  }
  if (pool.close()) {
    delete &pool;
    return;
  }
  LivePools& live = live_pools();
  const Lock lock(live.mutex);
  live.retired.push_back(&pool);
}

} // namespace musa_standin::engine::cpu
