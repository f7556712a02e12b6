// SPDX-License-Identifier: Apache-2.0
// Error names, strings, and the last error of a thread.
#include "support/conforms.h"

#include <cstring>
#include <thread>

namespace conformance {

namespace {

struct Named {
  musaError_t code;
  int number;
  const char* name;
};

// Those that clients branch on; the numbers stand in the fact sheet, 2.6.
const Named kNamed[] = {
    {musaSuccess, 0, "musaSuccess"},
    {musaErrorInvalidValue, 1, "musaErrorInvalidValue"},
    {musaErrorMemoryAllocation, 2, "musaErrorMemoryAllocation"},
    {musaErrorInitializationError, 3, "musaErrorInitializationError"},
    {musaErrorMusartUnloading, 4, "musaErrorMusartUnloading"},
    {musaErrorInvalidPitchValue, 12, "musaErrorInvalidPitchValue"},
    {musaErrorInvalidMemcpyDirection, 21, "musaErrorInvalidMemcpyDirection"},
    {musaErrorNoDevice, 100, "musaErrorNoDevice"},
    {musaErrorInvalidDevice, 101, "musaErrorInvalidDevice"},
    {musaErrorInvalidResourceHandle, 400, "musaErrorInvalidResourceHandle"},
    {musaErrorNotReady, 600, "musaErrorNotReady"},
    {musaErrorIllegalAddress, 700, "musaErrorIllegalAddress"},
    {musaErrorPeerAccessAlreadyEnabled,
     704,
     "musaErrorPeerAccessAlreadyEnabled"},
    {musaErrorPeerAccessNotEnabled, 705, "musaErrorPeerAccessNotEnabled"},
    {musaErrorHostMemoryAlreadyRegistered,
     712,
     "musaErrorHostMemoryAlreadyRegistered"},
    {musaErrorHostMemoryNotRegistered, 713, "musaErrorHostMemoryNotRegistered"},
    {musaErrorLaunchFailure, 719, "musaErrorLaunchFailure"},
    {musaErrorNotPermitted, 800, "musaErrorNotPermitted"},
    {musaErrorNotSupported, 801, "musaErrorNotSupported"},
    {musaErrorUnknown, 999, "musaErrorUnknown"},
};

void fail_once() {
  (void)musaSetDevice(-1);
}

} // namespace

CONFORMS(musaGetErrorName, success, is_the_enumerator) {
  for (const Named& named : kNamed) {
    EXPECT_EQ(named.number, static_cast<int>(named.code));
    EXPECT_STREQ(named.name, musaGetErrorName(named.code));
  }
}

CONFORMS(musaGetErrorName, InvalidValue, unknown_code_has_a_text) {
  const char* name = musaGetErrorName(static_cast<musaError_t>(123456));
  ASSERT_NE(nullptr, name);
  EXPECT_GT(std::strlen(name), 0U);
}

CONFORMS(musaGetErrorString, success, differs_between_codes) {
  for (const Named& named : kNamed) {
    const char* text = musaGetErrorString(named.code);
    ASSERT_NE(nullptr, text);
    EXPECT_GT(std::strlen(text), 3U) << named.name;
  }
  EXPECT_STRNE(
      musaGetErrorString(musaErrorNotReady),
      musaGetErrorString(musaErrorInvalidValue));
}

CONFORMS(musaGetErrorString, InvalidValue, unknown_code_has_a_text) {
  const char* text = musaGetErrorString(static_cast<musaError_t>(123456));
  ASSERT_NE(nullptr, text);
  EXPECT_GT(std::strlen(text), 0U);
}

CONFORMS(musaGetLastError, success, returns_and_clears) {
  fail_once();
  EXPECT_MUSA(musaErrorInvalidDevice, musaGetLastError());
  EXPECT_MUSA(musaSuccess, musaGetLastError());
}

CONFORMS(musaPeekAtLastError, success, returns_and_keeps) {
  fail_once();
  EXPECT_MUSA(musaErrorInvalidDevice, musaPeekAtLastError());
  EXPECT_MUSA(musaErrorInvalidDevice, musaPeekAtLastError());
  EXPECT_MUSA(musaErrorInvalidDevice, musaGetLastError());
}

BEHAVES(last_error, is_kept_by_later_successes) {
  fail_once();
  int device = -1;
  EXPECT_OK(musaGetDevice(&device));
  EXPECT_OK(musaDeviceSynchronize());
  EXPECT_MUSA(musaErrorInvalidDevice, musaGetLastError());
}

BEHAVES(last_error, is_the_latest_failure) {
  fail_once();
  EXPECT_MUSA(musaErrorInvalidValue, musaGetDeviceCount(nullptr));
  EXPECT_MUSA(musaErrorInvalidValue, musaGetLastError());
  EXPECT_MUSA(musaSuccess, musaGetLastError());
}

BEHAVES(last_error, belongs_to_the_thread) {
  fail_once();
  std::thread([] {
    EXPECT_MUSA(musaSuccess, musaPeekAtLastError());
    EXPECT_MUSA(musaErrorInvalidValue, musaGetDeviceCount(nullptr));
    EXPECT_MUSA(musaErrorInvalidValue, musaPeekAtLastError());
  }).join();
  EXPECT_MUSA(musaErrorInvalidDevice, musaGetLastError());
}

BEHAVES(last_error, is_set_by_not_ready) {
  Stream stream;
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(stream));
  EXPECT_MUSA(musaErrorNotReady, musaGetLastError());
  EXPECT_MUSA(musaSuccess, musaPeekAtLastError());
}

BEHAVES(last_error, failed_allocation_leaves_the_device_usable) {
  void* pointer = nullptr;
  EXPECT_FAILS(
      musaErrorMemoryAllocation,
      musaMalloc(&pointer, std::size_t{1} << 50));
  const Buffer buffer(4096);
  buffer.fill(7);
  EXPECT_EQ(7, buffer.read()[4095]);
}

} // namespace conformance
