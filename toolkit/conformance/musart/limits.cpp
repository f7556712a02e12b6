// SPDX-License-Identifier: Apache-2.0
// Device flags and limits, the profiler's switches, pitched allocation.
#include "support/conforms.h"

#include <cstdint>

namespace conformance {

CONFORMS(musaInitDevice, success, leaves_the_current_device) {
  EXPECT_OK(musaInitDevice(device_count() - 1, musaDeviceScheduleAuto, 0));
  int current = -1;
  EXPECT_OK(musaGetDevice(&current));
  EXPECT_EQ(0, current);
}

CONFORMS(musaInitDevice, InvalidDevice, out_of_range) {
  EXPECT_FAILS(musaErrorInvalidDevice, musaInitDevice(device_count(), 0, 0));
}

CONFORMS(musaGetDeviceFlags, success, are_what_was_set) {
  EXPECT_OK(musaSetDeviceFlags(musaDeviceScheduleYield));
  unsigned flags = 0;
  EXPECT_OK(musaGetDeviceFlags(&flags));
  EXPECT_EQ(unsigned{musaDeviceScheduleYield}, flags & musaDeviceScheduleMask);
  EXPECT_OK(musaSetDeviceFlags(musaDeviceScheduleAuto));
}

CONFORMS(musaGetDeviceFlags, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaGetDeviceFlags(nullptr));
}
COVERS(
    musaGetDeviceFlags,
    InvalidValue,
    musaGetDeviceFlags,
    null_is_invalid_value)

CONFORMS(musaDeviceSetLimit, success, limit_is_accepted) {
  std::size_t before = 0;
  EXPECT_OK(musaDeviceGetLimit(&before, musaLimitMallocHeapSize));
  EXPECT_OK(musaDeviceSetLimit(musaLimitMallocHeapSize, before));
  std::size_t after = 0;
  EXPECT_OK(musaDeviceGetLimit(&after, musaLimitMallocHeapSize));
  EXPECT_EQ(before, after);
}
COVERS(
    musaDeviceGetLimit,
    success,
    musaDeviceSetLimit,
    success_limit_is_accepted)

CONFORMS(musaDeviceSetLimit, UnsupportedLimit, unknown_limit) {
  EXPECT_FAILS(
      musaErrorUnsupportedLimit,
      musaDeviceSetLimit(static_cast<musaLimit>(1000), 1));
}

CONFORMS(musaDeviceGetLimit, UnsupportedLimit, unknown_limit) {
  std::size_t value = 0;
  EXPECT_FAILS(
      musaErrorUnsupportedLimit,
      musaDeviceGetLimit(&value, static_cast<musaLimit>(1000)));
}

CONFORMS(musaDeviceGetLimit, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaDeviceGetLimit(nullptr, musaLimitMallocHeapSize));
}
COVERS(
    musaDeviceGetLimit,
    InvalidValue,
    musaDeviceGetLimit,
    null_is_invalid_value)

CONFORMS(musaDeviceSetSharedMemConfig, success, is_accepted) {
  EXPECT_OK(musaDeviceSetSharedMemConfig(musaSharedMemBankSizeEightByte));
  musaSharedMemConfig config = musaSharedMemBankSizeDefault;
  EXPECT_OK(musaDeviceGetSharedMemConfig(&config));
  EXPECT_OK(musaDeviceSetSharedMemConfig(musaSharedMemBankSizeDefault));
}
COVERS(
    musaDeviceGetSharedMemConfig,
    success,
    musaDeviceSetSharedMemConfig,
    success_is_accepted)

CONFORMS(musaDeviceSetSharedMemConfig, InvalidValue, unknown_config) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaDeviceSetSharedMemConfig(static_cast<musaSharedMemConfig>(77)));
}

CONFORMS(musaDeviceGetSharedMemConfig, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaDeviceGetSharedMemConfig(nullptr));
}
COVERS(
    musaDeviceGetSharedMemConfig,
    InvalidValue,
    musaDeviceGetSharedMemConfig,
    null_is_invalid_value)

CONFORMS(musaCtxResetPersistingL2Cache, success, returns) {
  EXPECT_OK(musaCtxResetPersistingL2Cache());
}

CONFORMS(musaProfilerStart, success, and_stop) {
  EXPECT_OK(musaProfilerStart());
  EXPECT_OK(musaProfilerStop());
}
COVERS(musaProfilerStop, success, musaProfilerStart, success_and_stop)

CONFORMS(musaMallocPitch, success, rows_are_aligned_and_apart) {
  void* pointer = nullptr;
  std::size_t pitch = 0;
  ASSERT_MUSA(musaMallocPitch(&pointer, &pitch, 100, 5));
  EXPECT_GE(pitch, 100U);
  int alignment = 0;
  EXPECT_OK(
      musaDeviceGetAttribute(&alignment, musaDevAttrTexturePitchAlignment, 0));
  if (alignment > 0) {
    EXPECT_EQ(0U, pitch % static_cast<std::size_t>(alignment));
  }
  EXPECT_OK(musaMemset2D(pointer, pitch, 1, 100, 5));
  EXPECT_OK(musaMemset(pointer, 1, pitch * 4 + 100));
  EXPECT_OK(musaFree(pointer));
}

CONFORMS(musaMallocPitch, null, is_invalid_value) {
  void* pointer = nullptr;
  std::size_t pitch = 0;
  EXPECT_FAILS(musaErrorInvalidValue, musaMallocPitch(nullptr, &pitch, 16, 2));
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMallocPitch(&pointer, nullptr, 16, 2));
}
COVERS(musaMallocPitch, InvalidValue, musaMallocPitch, null_is_invalid_value)

CONFORMS(musaMallocPitch, zero, succeeds_with_null) {
  void* pointer = static_cast<void*>(&pointer);
  std::size_t pitch = 99;
  EXPECT_OK(musaMallocPitch(&pointer, &pitch, 0, 5));
  EXPECT_EQ(nullptr, pointer);
}

CONFORMS(musaMallocPitch, MemoryAllocation, more_than_there_is) {
  void* pointer = nullptr;
  std::size_t pitch = 0;
  EXPECT_FAILS(
      musaErrorMemoryAllocation,
      musaMallocPitch(&pointer, &pitch, 1UL << 30, 1UL << 20));
  EXPECT_FAILS(
      musaErrorMemoryAllocation,
      musaMallocPitch(&pointer, &pitch, SIZE_MAX / 2, SIZE_MAX / 2));
}

CONFORMS(musaHostGetFlags, success, are_those_of_the_allocation) {
  void* pointer = nullptr;
  ASSERT_MUSA(musaHostAlloc(&pointer, 64, musaHostAllocPortable));
  unsigned flags = 0;
  EXPECT_OK(musaHostGetFlags(&flags, pointer));
  EXPECT_NE(0U, flags & musaHostAllocPortable);
  EXPECT_OK(musaFreeHost(pointer));
}

CONFORMS(musaHostGetFlags, null, is_invalid_value) {
  unsigned flags = 0;
  EXPECT_FAILS(musaErrorInvalidValue, musaHostGetFlags(nullptr, &flags));
  EXPECT_FAILS(musaErrorInvalidValue, musaHostGetFlags(&flags, nullptr));
}

CONFORMS(musaHostGetFlags, InvalidValue, pageable_memory) {
  unsigned flags = 0;
  int local = 0;
  EXPECT_FAILS(musaErrorInvalidValue, musaHostGetFlags(&flags, &local));
}

} // namespace conformance
