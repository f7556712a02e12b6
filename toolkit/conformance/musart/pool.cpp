// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation and memory pools.
#include "support/conforms.h"

#include <cstdint>
#include <cstring>

namespace conformance {

namespace {

constexpr std::size_t kBytes = 1 << 20;

class Pool {
 public:
  Pool() {
    musaMemPoolProps properties;
    std::memset(&properties, 0, sizeof properties);
    properties.allocType = musaMemAllocationTypePinned;
    properties.handleTypes = musaMemHandleTypeNone;
    properties.location.type = musaMemLocationTypeDevice;
    properties.location.id = 0;
    EXPECT_OK(musaMemPoolCreate(&handle_, &properties));
  }
  ~Pool() {
    if (handle_ != nullptr) {
      EXPECT_OK(musaMemPoolDestroy(handle_));
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  musaMemPool_t get() const { return handle_; }
  musaMemPool_t release() {
    const musaMemPool_t handle = handle_;
    handle_ = nullptr;
    return handle;
  }
  std::uint64_t number(musaMemPoolAttr which) const {
    std::uint64_t value = 0;
    EXPECT_OK(musaMemPoolGetAttribute(handle_, which, &value));
    return value;
  }

 private:
  musaMemPool_t handle_ = nullptr;
};

musaMemPool_t freed_pool() {
  Pool pool;
  const musaMemPool_t handle = pool.release();
  EXPECT_OK(musaMemPoolDestroy(handle));
  return handle;
}

} // namespace

CONFORMS(musaMallocAsync, success, is_usable_in_stream_order) {
  Stream stream(musaStreamNonBlocking);
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocAsync(&pointer, kBytes, stream));
  ASSERT_NE(nullptr, pointer);
  EXPECT_OK(musaMemsetAsync(pointer, 6, kBytes, stream));
  unsigned char last = 0;
  EXPECT_OK(musaMemcpyAsync(
      &last,
      static_cast<char*>(pointer) + kBytes - 1,
      1,
      musaMemcpyDeviceToHost,
      stream));
  EXPECT_OK(musaFreeAsync(pointer, stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(6, last);
}
COVERS(
    musaFreeAsync,
    success,
    musaMallocAsync,
    success_is_usable_in_stream_order)

CONFORMS(musaMallocAsync, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMallocAsync(static_cast<void**>(nullptr), 16, nullptr));
}
COVERS(musaMallocAsync, InvalidValue, musaMallocAsync, null_is_invalid_value)

CONFORMS(musaMallocAsync, zero, succeeds_with_null) {
  void* pointer = &pointer;
  EXPECT_OK(musaMallocAsync(&pointer, 0, nullptr));
  EXPECT_EQ(nullptr, pointer);
}

CONFORMS(musaMallocAsync, MemoryAllocation, more_than_there_is) {
  void* pointer = nullptr;
  EXPECT_FAILS(
      musaErrorMemoryAllocation,
      musaMallocAsync(&pointer, std::size_t{1} << 50, nullptr));
}

CONFORMS(musaMallocAsync, InvalidResourceHandle, freed_stream) {
  void* pointer = nullptr;
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaMallocAsync(&pointer, 16, freed_stream()));
}

CONFORMS(musaFreeAsync, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaFreeAsync(nullptr, nullptr));
}

CONFORMS(musaFreeAsync, InvalidValue, double_free) {
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocAsync(&pointer, kBytes, nullptr));
  EXPECT_OK(musaFreeAsync(pointer, nullptr));
  EXPECT_FAILS(musaErrorInvalidValue, musaFreeAsync(pointer, nullptr));
  EXPECT_OK(musaDeviceSynchronize());
}

CONFORMS(musaFreeAsync, InvalidResourceHandle, freed_stream) {
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocAsync(&pointer, kBytes, nullptr));
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaFreeAsync(pointer, freed_stream()));
  EXPECT_OK(musaFreeAsync(pointer, nullptr));
}

BEHAVES(pool, free_async_does_not_wait) {
  Stream stream(musaStreamNonBlocking);
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocAsync(&pointer, kBytes, stream));
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_OK(musaMemsetAsync(pointer, 1, kBytes, stream));
  EXPECT_OK(musaFreeAsync(pointer, stream));
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(stream));
  EXPECT_FALSE(gate.expired());
}

BEHAVES(pool, memory_is_not_handed_out_before_its_stream_is_done) {
  Stream first(musaStreamNonBlocking);
  Stream second(musaStreamNonBlocking);
  void* early = nullptr;
  ASSERT_MUSA(musaMallocAsync(&early, kBytes, first));
  Gate gate;
  ASSERT_MUSA(gate.hold(first));
  EXPECT_OK(musaMemsetAsync(early, 1, kBytes, first));
  EXPECT_OK(musaFreeAsync(early, first));
  void* late = nullptr;
  ASSERT_MUSA(musaMallocAsync(&late, kBytes, second));
  EXPECT_OK(musaMemsetAsync(late, 2, kBytes, second));
  gate.open();
  EXPECT_OK(musaStreamSynchronize(first));
  unsigned char bytes[2] = {};
  EXPECT_OK(musaMemcpyAsync(bytes, late, 1, musaMemcpyDeviceToHost, second));
  EXPECT_OK(musaMemcpyAsync(
      bytes + 1,
      static_cast<char*>(late) + kBytes - 1,
      1,
      musaMemcpyDeviceToHost,
      second));
  EXPECT_OK(musaFreeAsync(late, second));
  EXPECT_OK(musaStreamSynchronize(second));
  EXPECT_EQ(2, bytes[0]);
  EXPECT_EQ(2, bytes[1]);
}

BEHAVES(pool, allocation_on_one_device_is_freed_from_another) {
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocAsync(&pointer, kBytes, nullptr));
  musaPointerAttributes attributes;
  EXPECT_OK(musaPointerGetAttributes(&attributes, pointer));
  EXPECT_EQ(musaMemoryTypeDevice, attributes.type);
  EXPECT_EQ(0, attributes.device);
  EXPECT_OK(musaFreeAsync(pointer, nullptr));
  EXPECT_OK(musaDeviceSynchronize());
}

CONFORMS(musaMallocFromPoolAsync, success, counts_in_the_pool) {
  Stream stream(musaStreamNonBlocking);
  const Pool pool;
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocFromPoolAsync(&pointer, kBytes, pool.get(), stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_GE(pool.number(musaMemPoolAttrUsedMemCurrent), kBytes);
  EXPECT_GE(pool.number(musaMemPoolAttrReservedMemCurrent), kBytes);
  EXPECT_OK(musaFreeAsync(pointer, stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(0U, pool.number(musaMemPoolAttrUsedMemCurrent));
  EXPECT_GE(pool.number(musaMemPoolAttrUsedMemHigh), kBytes);
}
COVERS(
    musaMemPoolGetAttribute,
    success,
    musaMallocFromPoolAsync,
    success_counts_in_the_pool)

CONFORMS(musaMallocFromPoolAsync, null, is_invalid_value) {
  const Pool pool;
  void* pointer = nullptr;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMallocFromPoolAsync(nullptr, 16, pool.get(), nullptr));
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMallocFromPoolAsync(&pointer, 16, nullptr, nullptr));
}

CONFORMS(musaMallocFromPoolAsync, InvalidValue, freed_pool) {
  void* pointer = nullptr;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMallocFromPoolAsync(&pointer, 16, freed_pool(), nullptr));
}

CONFORMS(musaMallocFromPoolAsync, zero, succeeds_with_null) {
  const Pool pool;
  void* pointer = &pointer;
  EXPECT_OK(musaMallocFromPoolAsync(&pointer, 0, pool.get(), nullptr));
  EXPECT_EQ(nullptr, pointer);
}

CONFORMS(musaMallocFromPoolAsync, MemoryAllocation, more_than_there_is) {
  const Pool pool;
  void* pointer = nullptr;
  EXPECT_FAILS(
      musaErrorMemoryAllocation,
      musaMallocFromPoolAsync(
          &pointer,
          std::size_t{1} << 50,
          pool.get(),
          nullptr));
}

CONFORMS(musaMallocFromPoolAsync, InvalidResourceHandle, freed_stream) {
  const Pool pool;
  void* pointer = nullptr;
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaMallocFromPoolAsync(&pointer, 16, pool.get(), freed_stream()));
}

CONFORMS(musaMemPoolCreate, success, private_pools_are_distinct) {
  const Pool first;
  const Pool second;
  EXPECT_NE(nullptr, first.get());
  EXPECT_NE(first.get(), second.get());
  musaMemPool_t standard = nullptr;
  EXPECT_OK(musaDeviceGetDefaultMemPool(&standard, 0));
  EXPECT_NE(first.get(), standard);
}

CONFORMS(musaMemPoolCreate, null, is_invalid_value) {
  musaMemPool_t pool = nullptr;
  EXPECT_FAILS(musaErrorInvalidValue, musaMemPoolCreate(&pool, nullptr));
  musaMemPoolProps properties;
  std::memset(&properties, 0, sizeof properties);
  EXPECT_FAILS(musaErrorInvalidValue, musaMemPoolCreate(nullptr, &properties));
}

CONFORMS(musaMemPoolCreate, InvalidValue, properties_of_no_device) {
  musaMemPool_t pool = nullptr;
  musaMemPoolProps properties;
  std::memset(&properties, 0, sizeof properties);
  properties.allocType = musaMemAllocationTypePinned;
  properties.location.type = musaMemLocationTypeDevice;
  properties.location.id = device_count();
  EXPECT_FAILS(musaErrorInvalidValue, musaMemPoolCreate(&pool, &properties));
  std::memset(&properties, 0, sizeof properties);
  EXPECT_FAILS(musaErrorInvalidValue, musaMemPoolCreate(&pool, &properties));
}

CONFORMS(musaMemPoolDestroy, success, keeps_live_allocations) {
  Pool pool;
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocFromPoolAsync(&pointer, kBytes, pool.get(), nullptr));
  EXPECT_OK(musaMemPoolDestroy(pool.release()));
  EXPECT_OK(musaMemset(pointer, 4, kBytes));
  EXPECT_OK(musaFreeAsync(pointer, nullptr));
  EXPECT_OK(musaDeviceSynchronize());
}

CONFORMS(musaMemPoolDestroy, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaMemPoolDestroy(nullptr));
}

CONFORMS(musaMemPoolDestroy, InvalidValue, twice_or_the_default) {
  EXPECT_FAILS(musaErrorInvalidValue, musaMemPoolDestroy(freed_pool()));
  musaMemPool_t standard = nullptr;
  EXPECT_OK(musaDeviceGetDefaultMemPool(&standard, 0));
  EXPECT_FAILS(musaErrorInvalidValue, musaMemPoolDestroy(standard));
}

CONFORMS(musaMemPoolSetAttribute, success, threshold_keeps_memory) {
  Stream stream(musaStreamNonBlocking);
  const Pool pool;
  std::uint64_t threshold = UINT64_MAX;
  EXPECT_OK(musaMemPoolSetAttribute(
      pool.get(),
      musaMemPoolAttrReleaseThreshold,
      &threshold));
  EXPECT_EQ(UINT64_MAX, pool.number(musaMemPoolAttrReleaseThreshold));
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocFromPoolAsync(&pointer, kBytes, pool.get(), stream));
  EXPECT_OK(musaFreeAsync(pointer, stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_GE(pool.number(musaMemPoolAttrReservedMemCurrent), kBytes);
  void* again = nullptr;
  ASSERT_MUSA(musaMallocFromPoolAsync(&again, kBytes, pool.get(), stream));
  EXPECT_EQ(pointer, again) << "kept memory is used again";
  EXPECT_OK(musaFreeAsync(again, stream));
  EXPECT_OK(musaStreamSynchronize(stream));
}

CONFORMS(musaMemPoolSetAttribute, null, is_invalid_value) {
  const Pool pool;
  std::uint64_t value = 0;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemPoolSetAttribute(
          pool.get(),
          musaMemPoolAttrReleaseThreshold,
          nullptr));
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemPoolSetAttribute(
          nullptr,
          musaMemPoolAttrReleaseThreshold,
          &value));
}

CONFORMS(musaMemPoolSetAttribute, InvalidValue, unknown_or_read_only) {
  const Pool pool;
  std::uint64_t value = 1;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemPoolSetAttribute(
          pool.get(),
          static_cast<musaMemPoolAttr>(1000),
          &value));
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemPoolSetAttribute(
          pool.get(),
          musaMemPoolAttrUsedMemCurrent,
          &value));
}

CONFORMS(musaMemPoolGetAttribute, null, is_invalid_value) {
  const Pool pool;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemPoolGetAttribute(
          pool.get(),
          musaMemPoolAttrReleaseThreshold,
          nullptr));
}

CONFORMS(musaMemPoolGetAttribute, InvalidValue, unknown) {
  const Pool pool;
  std::uint64_t value = 0;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemPoolGetAttribute(
          pool.get(),
          static_cast<musaMemPoolAttr>(1000),
          &value));
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemPoolGetAttribute(
          freed_pool(),
          musaMemPoolAttrReleaseThreshold,
          &value));
}

CONFORMS(musaMemPoolTrimTo, success, gives_unused_memory_back) {
  Stream stream(musaStreamNonBlocking);
  const Pool pool;
  std::uint64_t threshold = UINT64_MAX;
  EXPECT_OK(musaMemPoolSetAttribute(
      pool.get(),
      musaMemPoolAttrReleaseThreshold,
      &threshold));
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocFromPoolAsync(&pointer, kBytes, pool.get(), stream));
  EXPECT_OK(musaFreeAsync(pointer, stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_OK(musaMemPoolTrimTo(pool.get(), 0));
  EXPECT_EQ(0U, pool.number(musaMemPoolAttrReservedMemCurrent));
}
COVERS(
    musaMemPoolTrimTo,
    zero,
    musaMemPoolTrimTo,
    success_gives_unused_memory_back)

CONFORMS(musaMemPoolTrimTo, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaMemPoolTrimTo(nullptr, 0));
}

CONFORMS(musaMemPoolTrimTo, InvalidValue, freed_pool) {
  EXPECT_FAILS(musaErrorInvalidValue, musaMemPoolTrimTo(freed_pool(), 0));
}

CONFORMS(musaDeviceGetDefaultMemPool, success, is_one_per_device) {
  musaMemPool_t first = nullptr;
  musaMemPool_t second = nullptr;
  EXPECT_OK(musaDeviceGetDefaultMemPool(&first, 0));
  EXPECT_OK(musaDeviceGetDefaultMemPool(&second, 0));
  EXPECT_NE(nullptr, first);
  EXPECT_EQ(first, second);
  if (device_count() > 1) {
    EXPECT_OK(musaDeviceGetDefaultMemPool(&second, 1));
    EXPECT_NE(first, second);
  }
}

CONFORMS(musaDeviceGetDefaultMemPool, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaDeviceGetDefaultMemPool(nullptr, 0));
}
COVERS(
    musaDeviceGetDefaultMemPool,
    InvalidValue,
    musaDeviceGetDefaultMemPool,
    null_is_invalid_value)

CONFORMS(musaDeviceGetDefaultMemPool, InvalidDevice, out_of_range) {
  musaMemPool_t pool = nullptr;
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaDeviceGetDefaultMemPool(&pool, device_count()));
}

CONFORMS(musaDeviceSetMemPool, success, serves_malloc_async) {
  musaMemPool_t standard = nullptr;
  EXPECT_OK(musaDeviceGetMemPool(&standard, 0));
  const Pool pool;
  EXPECT_OK(musaDeviceSetMemPool(0, pool.get()));
  musaMemPool_t current = nullptr;
  EXPECT_OK(musaDeviceGetMemPool(&current, 0));
  EXPECT_EQ(pool.get(), current);
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocAsync(&pointer, kBytes, nullptr));
  EXPECT_OK(musaDeviceSynchronize());
  EXPECT_GE(pool.number(musaMemPoolAttrUsedMemCurrent), kBytes);
  EXPECT_OK(musaFreeAsync(pointer, nullptr));
  EXPECT_OK(musaDeviceSetMemPool(0, standard));
  EXPECT_OK(musaDeviceSynchronize());
}
COVERS(
    musaDeviceGetMemPool,
    success,
    musaDeviceSetMemPool,
    success_serves_malloc_async)

CONFORMS(musaDeviceSetMemPool, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaDeviceSetMemPool(0, nullptr));
}
COVERS(
    musaDeviceSetMemPool,
    InvalidValue,
    musaDeviceSetMemPool,
    null_is_invalid_value)

CONFORMS(musaDeviceSetMemPool, InvalidDevice, out_of_range) {
  const Pool pool;
  EXPECT_FAILS(musaErrorInvalidDevice, musaDeviceSetMemPool(-1, pool.get()));
}

CONFORMS(musaDeviceGetMemPool, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaDeviceGetMemPool(nullptr, 0));
}
COVERS(
    musaDeviceGetMemPool,
    InvalidValue,
    musaDeviceGetMemPool,
    null_is_invalid_value)

CONFORMS(musaDeviceGetMemPool, InvalidDevice, out_of_range) {
  musaMemPool_t pool = nullptr;
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaDeviceGetMemPool(&pool, device_count()));
}

} // namespace conformance
