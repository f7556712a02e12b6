// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation.
#include "toolkit/engine/cuda/mem_pool.h"

#include "toolkit/engine/cuda/flag_map.h"
#include "toolkit/engine/cuda/memory.h"

#include <cstring>
#include <mutex>

namespace musa_standin::engine::cuda {
namespace {

using PoolTable = HandleTable<MemPool, size_t{1} << 12>;
using Lock = std::lock_guard<std::mutex>;

PoolTable& pool_table() {
  static auto* const table = new PoolTable;
  return *table;
}

struct DevicePools {
  MemPool* first = nullptr;
  MemPool* current = nullptr;
  uint64_t peers = 0; // a bit for each device that reaches the memory
};
DevicePools g_pools[kMaxDevices];
std::mutex g_mutex; // of g_pools, and of all pools' lives

void set_access(const MemPool& pool, int peer, bool open) {
  cudaMemAccessDesc access = {};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = g_ordinals[peer];
  access.flags =
      open ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
  check(cudaMemPoolSetAccess(pool.native(), &access, 1), pool.device());
}

// Under the lock.
MemPool& make_pool_locked(int device, size_t max_bytes) {
  use_device(device);
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.handleTypes = cudaMemHandleTypeNone;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = g_ordinals[device];
  props.maxSize = max_bytes;
  cudaMemPool_t native = nullptr;
  check(cudaMemPoolCreate(&native, &props));
  MemPool& pool = pool_table().take();
  pool.open(device, native);
  for (int peer = 0; peer < kMaxDevices; ++peer) {
    if (((g_pools[device].peers >> peer) & 1U) != 0) {
      set_access(pool, peer, true);
    }
  }
  return pool;
}

// Under the lock.
MemPool& first_pool(int device) {
  DevicePools& pools = g_pools[device];
  if (pools.first == nullptr) {
    pools.first = &make_pool_locked(device, 0);
  }
  return *pools.first;
}

template <class F>
void for_each_pool(int device, F&& f) {
  pool_table().for_each([&](MemPool& pool) {
    if (pool.alive() && pool.device() == device) {
      f(pool);
    }
  });
}

bool is_switch(musaMemPoolAttr attribute) {
  return attribute <= musaMemPoolReuseAllowInternalDependencies;
}

} // namespace

void MemPool::set_attribute(musaMemPoolAttr attribute, const void* value) {
  const cudaMemPoolAttr which = to_cuda(attribute);
  switch (attribute) {
  case musaMemPoolAttrReservedMemCurrent:
  case musaMemPoolAttrUsedMemCurrent:
    throw Error(musaErrorInvalidValue, "the pool's attribute cannot be set");
  default:
    break;
  }
  uint64_t copy = 0; // CUDA takes no pointer to const
  std::memcpy(&copy, value, is_switch(attribute) ? sizeof(int) : sizeof copy);
  const bool high = attribute == musaMemPoolAttrReservedMemHigh ||
      attribute == musaMemPoolAttrUsedMemHigh;
  if (high && copy != 0) {
    throw Error(
        musaErrorInvalidValue,
        "a high-water mark can only be set to 0");
  }
  check(cudaMemPoolSetAttribute(native_, which, &copy), device_);
}

void MemPool::attribute(musaMemPoolAttr attribute, void* value) {
  check(cudaMemPoolGetAttribute(native_, to_cuda(attribute), value), device_);
}

void MemPool::trim(size_t keep_bytes) {
  check(cudaMemPoolTrimTo(native_, keep_bytes), device_);
}

MemPool& make_pool(int device, size_t max_bytes) {
  const Lock lock(g_mutex);
  return make_pool_locked(device, max_bytes);
}

MemPool& find_pool(musaMemPool_t handle) {
  MemPool* pool = pool_table().find(handle);
  if (pool == nullptr || !pool->alive()) {
    throw Error(
        musaErrorInvalidValue,
        "the memory pool's handle is none, or the pool was destroyed");
  }
  return *pool;
}

void destroy_pool(MemPool& pool) {
  const int device = pool.device();
  cudaMemPool_t native = nullptr;
  {
    const Lock lock(g_mutex);
    DevicePools& pools = g_pools[device];
    if (&pool == pools.first) {
      throw Error(
          musaErrorInvalidValue,
          "a device's default pool stays with it");
    }
    if (!pool.kill()) {
      throw Error(
          musaErrorInvalidValue,
          "another thread destroyed the memory pool");
    }
    if (pools.current == &pool) {
      pools.current = nullptr;
    }
    native = pool.native();
    pool_table().give_back(pool);
  }
  check(cudaMemPoolDestroy(native), device);
}

MemPool& default_pool(int device) {
  const Lock lock(g_mutex);
  return first_pool(device);
}

MemPool& current_pool(int device) {
  const Lock lock(g_mutex);
  MemPool* current = g_pools[device].current;
  return current != nullptr ? *current : first_pool(device);
}

void set_current_pool(int device, MemPool& pool) {
  if (pool.device() != device) {
    throw Error(musaErrorInvalidValue, "the memory pool is another device's");
  }
  const Lock lock(g_mutex);
  g_pools[device].current = &pool;
}

void* allocate_async(MemPool& pool, size_t bytes, Stream& stream) {
  const cudaStream_t at = native(stream);
  void* pointer = nullptr;
  const cudaError_t result =
      cudaMallocFromPoolAsync(&pointer, bytes, pool.native(), at);
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw Error(
        musaErrorMemoryAllocation,
        "the memory pool is out of memory: " + in_words(bytes) +
            " were asked for");
  }
  check(result);
  keep_block(
      {reinterpret_cast<uintptr_t>(pointer),
       bytes,
       Side::kPool,
       0,
       pool.device()});
  return pointer;
}

void release_async(void* pointer, Stream& stream) {
  Block block;
  if (!take_block(
          pointer,
          [](Side side) { return side == Side::kPool; },
          block)) {
    throw Error(
        musaErrorInvalidValue,
        "the pointer is not live memory of a memory pool");
  }
  const cudaError_t result = cudaFreeAsync(pointer, native(stream));
  if (result != cudaSuccess) {
    keep_block(block); // it is still there
    raise(result);
  }
}

void empty_pools(int device) {
  const Lock lock(g_mutex);
  for_each_pool(device, [](MemPool& pool) {
    ignore(cudaMemPoolTrimTo(pool.native(), 0));
  });
}

void drop_pools(int device, bool context_is_gone) {
  const Lock lock(g_mutex);
  g_pools[device].current = nullptr;
  MemPool* first = g_pools[device].first;
  for_each_pool(device, [&](MemPool& pool) {
    if (&pool == first && !context_is_gone) {
      ignore(cudaMemPoolTrimTo(pool.native(), 0));
      return;
    }
    if (!context_is_gone) {
      ignore(cudaMemPoolDestroy(pool.native()));
    }
    if (pool.kill()) {
      pool_table().give_back(pool);
    }
  });
  if (context_is_gone) {
    g_pools[device] = {};
  }
}

void open_pools_to(int device, int peer, bool open) {
  const Lock lock(g_mutex);
  const uint64_t bit = uint64_t{1} << peer;
  g_pools[device].peers =
      open ? g_pools[device].peers | bit : g_pools[device].peers & ~bit;
  for_each_pool(device, [&](MemPool& pool) { set_access(pool, peer, open); });
}

} // namespace musa_standin::engine::cuda
