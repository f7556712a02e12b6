// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation and memory pools.
#include "toolkit/api/call.h"

#include "toolkit/include/musa_runtime_api.h"

using namespace musa_standin::api;
namespace engine = musa_standin::engine;
using engine::runtime;

namespace {

void allocate(
    void** pointer,
    size_t size,
    engine::MemPool* pool,
    musaStream_t stream) {
  require(pointer != nullptr, "the result's pointer is null");
  *pointer = nullptr;
  engine::Stream& on = stream_of(stream);
  if (size != 0) {
    *pointer = runtime().allocate_async(pool, size, on);
  }
}

} // namespace

musaError_t musaMallocAsync(void** devPtr, size_t size, musaStream_t stream) {
  return api_call("musaMallocAsync", [&] {
    allocate(devPtr, size, nullptr, stream);
  });
}

musaError_t musaMallocFromPoolAsync(
    void** ptr,
    size_t size,
    musaMemPool_t memPool,
    musaStream_t stream) {
  return api_call("musaMallocFromPoolAsync", [&] {
    allocate(ptr, size, runtime().resolve_pool(memPool), stream);
  });
}

musaError_t musaFreeAsync(void* devPtr, musaStream_t stream) {
  return api_call("musaFreeAsync", [&] {
    require(devPtr != nullptr, "devPtr is null");
    runtime().release_async(devPtr, stream_of(stream));
  });
}

musaError_t musaMemPoolCreate(
    musaMemPool_t* memPool,
    const musaMemPoolProps* poolProps) {
  return api_call("musaMemPoolCreate", [&] {
    require(memPool != nullptr && poolProps != nullptr, "an argument is null");
    require(
        poolProps->allocType == musaMemAllocationTypePinned &&
            poolProps->location.type == musaMemLocationTypeDevice,
        "a pool holds pinned memory of a device");
    require(
        poolProps->location.id >= 0 &&
            poolProps->location.id < runtime().device_count(),
        "there is no device of the pool's location");
    if (poolProps->handleTypes != musaMemHandleTypeNone) {
      throw engine::Error(
          musaErrorNotSupported,
          "memory of a pool cannot be shared between processes");
    }
    *memPool = runtime().create_pool(*poolProps);
  });
}

musaError_t musaMemPoolDestroy(musaMemPool_t memPool) {
  return api_call("musaMemPoolDestroy", [&] {
    runtime().destroy_pool(memPool);
  });
}

musaError_t musaMemPoolSetAttribute(
    musaMemPool_t memPool,
    musaMemPoolAttr attr,
    void* value) {
  return api_call("musaMemPoolSetAttribute", [&] {
    require(value != nullptr, "value is null");
    runtime().set_pool_attribute(runtime().resolve_pool(memPool), attr, value);
  });
}

musaError_t musaMemPoolGetAttribute(
    musaMemPool_t memPool,
    musaMemPoolAttr attr,
    void* value) {
  return api_call("musaMemPoolGetAttribute", [&] {
    require(value != nullptr, "value is null");
    runtime().pool_attribute(runtime().resolve_pool(memPool), attr, value);
  });
}

musaError_t musaMemPoolTrimTo(musaMemPool_t memPool, size_t minBytesToKeep) {
  return api_call("musaMemPoolTrimTo", [&] {
    runtime().trim_pool(runtime().resolve_pool(memPool), minBytesToKeep);
  });
}

musaError_t musaDeviceGetDefaultMemPool(musaMemPool_t* memPool, int device) {
  return api_call<Needs::kLifetime>("musaDeviceGetDefaultMemPool", [&] {
    require(memPool != nullptr, "memPool is null");
    *memPool = runtime().default_pool(checked_device(device));
  });
}

musaError_t musaDeviceGetMemPool(musaMemPool_t* memPool, int device) {
  return api_call<Needs::kLifetime>("musaDeviceGetMemPool", [&] {
    require(memPool != nullptr, "memPool is null");
    *memPool = runtime().current_pool(checked_device(device));
  });
}

musaError_t musaDeviceSetMemPool(int device, musaMemPool_t memPool) {
  return api_call("musaDeviceSetMemPool", [&] {
    checked_device(device);
    runtime().set_current_pool(device, runtime().resolve_pool(memPool));
  });
}
