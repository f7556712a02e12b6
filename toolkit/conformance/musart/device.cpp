// SPDX-License-Identifier: Apache-2.0
// Devices: count, current device, properties, attributes, limits, reset.
#include "support/conforms.h"

#include <cstring>
#include <string>
#include <thread>

namespace conformance {

CONFORMS(musaGetDeviceCount, success, is_at_least_one) {
  int count = 0;
  EXPECT_OK(musaGetDeviceCount(&count));
  EXPECT_GE(count, 1);
}

CONFORMS(musaGetDeviceCount, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaGetDeviceCount(nullptr));
}
COVERS(
    musaGetDeviceCount,
    InvalidValue,
    musaGetDeviceCount,
    null_is_invalid_value)

CONFORMS(musaGetDevice, success, is_what_was_set) {
  for (int device = 0; device < device_count(); ++device) {
    EXPECT_OK(musaSetDevice(device));
    int current = -1;
    EXPECT_OK(musaGetDevice(&current));
    EXPECT_EQ(device, current);
  }
}

CONFORMS(musaGetDevice, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaGetDevice(nullptr));
}
COVERS(musaGetDevice, InvalidValue, musaGetDevice, null_is_invalid_value)

CONFORMS(musaSetDevice, success, belongs_to_the_thread) {
  const int last = device_count() - 1;
  EXPECT_OK(musaSetDevice(last));
  int other = -1;
  std::thread([&] { EXPECT_OK(musaGetDevice(&other)); }).join();
  EXPECT_EQ(0, other) << "a new thread starts on device 0";
  int mine = -1;
  EXPECT_OK(musaGetDevice(&mine));
  EXPECT_EQ(last, mine);
}

CONFORMS(musaSetDevice, InvalidDevice, keeps_the_current_one) {
  EXPECT_FAILS(musaErrorInvalidDevice, musaSetDevice(-1));
  EXPECT_FAILS(musaErrorInvalidDevice, musaSetDevice(device_count()));
  int current = -1;
  EXPECT_OK(musaGetDevice(&current));
  EXPECT_EQ(0, current);
}

CONFORMS(musaSetDeviceFlags, success, takes_schedule_and_map_host) {
  EXPECT_OK(musaSetDeviceFlags(musaDeviceMapHost));
  EXPECT_OK(musaSetDeviceFlags(musaDeviceScheduleAuto));
}

CONFORMS(musaSetDeviceFlags, InvalidValue, unknown_bits) {
  EXPECT_FAILS(musaErrorInvalidValue, musaSetDeviceFlags(0x80000000U));
}

CONFORMS(musaDeviceSynchronize, success, waits_for_every_stream) {
  Stream blocking;
  Stream free_running(musaStreamNonBlocking);
  Flag first;
  Flag second;
  Flag third;
  EXPECT_OK(first.set_by(blocking));
  EXPECT_OK(second.set_by(free_running));
  EXPECT_OK(third.set_by(nullptr));
  EXPECT_OK(musaDeviceSynchronize());
  EXPECT_TRUE(first.done());
  EXPECT_TRUE(second.done());
  EXPECT_TRUE(third.done());
}

CONFORMS(musaGetDeviceProperties, success, agree_with_attributes) {
  for (int device = 0; device < device_count(); ++device) {
    musaDeviceProp properties;
    std::memset(&properties, 0xA5, sizeof properties);
    EXPECT_OK(musaGetDeviceProperties(&properties, device));
    EXPECT_GT(std::strlen(properties.name), 0U);
    EXPECT_LT(std::strlen(properties.name), sizeof properties.name);
    EXPECT_GT(properties.totalGlobalMem, 0U);
    const auto attribute = [&](musaDeviceAttr which) {
      int value = -1;
      EXPECT_OK(musaDeviceGetAttribute(&value, which, device));
      return value;
    };
    EXPECT_EQ(properties.major, attribute(musaDevAttrComputeCapabilityMajor));
    EXPECT_EQ(properties.minor, attribute(musaDevAttrComputeCapabilityMinor));
    EXPECT_EQ(
        properties.multiProcessorCount,
        attribute(musaDevAttrMultiProcessorCount));
    EXPECT_EQ(properties.warpSize, attribute(musaDevAttrWarpSize));
    EXPECT_EQ(
        properties.maxThreadsPerBlock,
        attribute(musaDevAttrMaxThreadsPerBlock));
    EXPECT_GT(properties.multiProcessorCount, 0);
    EXPECT_GT(properties.maxThreadsPerBlock, 0);
    EXPECT_GT(properties.maxThreadsPerMultiProcessor, 0);
  }
}

CONFORMS(musaGetDeviceProperties, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaGetDeviceProperties(nullptr, 0));
}
COVERS(
    musaGetDeviceProperties,
    InvalidValue,
    musaGetDeviceProperties,
    null_is_invalid_value)

CONFORMS(musaGetDeviceProperties, InvalidDevice, out_of_range) {
  musaDeviceProp properties;
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaGetDeviceProperties(&properties, -1));
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaGetDeviceProperties(&properties, device_count()));
}

CONFORMS(musaDeviceGetAttribute, success, knows_what_frameworks_ask) {
  const musaDeviceAttr asked[] = {
      musaDevAttrMaxThreadsPerBlock,
      musaDevAttrMultiProcessorCount,
      musaDevAttrWarpSize,
      musaDevAttrComputeCapabilityMajor,
      musaDevAttrMaxSharedMemoryPerBlock,
      musaDevAttrMaxThreadsPerMultiProcessor,
      musaDevAttrL2CacheSize};
  for (const musaDeviceAttr which : asked) {
    int value = -1;
    EXPECT_OK(musaDeviceGetAttribute(&value, which, 0));
    EXPECT_GT(value, 0) << "attribute " << static_cast<int>(which);
  }
  int pools = -1;
  EXPECT_OK(musaDeviceGetAttribute(&pools, musaDevAttrMemoryPoolsSupported, 0));
  EXPECT_TRUE(pools == 0 || pools == 1);
}

CONFORMS(musaDeviceGetAttribute, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaDeviceGetAttribute(nullptr, musaDevAttrWarpSize, 0));
}

CONFORMS(musaDeviceGetAttribute, InvalidValue, unknown_attribute) {
  int value = 0;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaDeviceGetAttribute(&value, static_cast<musaDeviceAttr>(100000), 0));
}

CONFORMS(musaDeviceGetAttribute, InvalidDevice, out_of_range) {
  int value = 0;
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaDeviceGetAttribute(&value, musaDevAttrWarpSize, device_count()));
}

CONFORMS(musaDeviceGetPCIBusId, success, finds_its_way_back) {
  for (int device = 0; device < device_count(); ++device) {
    char id[32] = {};
    EXPECT_OK(musaDeviceGetPCIBusId(id, sizeof id, device));
    int found = -1;
    EXPECT_OK(musaDeviceGetByPCIBusId(&found, id));
    EXPECT_EQ(device, found) << id;
  }
}
COVERS(
    musaDeviceGetByPCIBusId,
    success,
    musaDeviceGetPCIBusId,
    success_finds_its_way_back)

CONFORMS(musaDeviceGetPCIBusId, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaDeviceGetPCIBusId(nullptr, 32, 0));
}

CONFORMS(musaDeviceGetPCIBusId, InvalidValue, room_too_small) {
  char id[32] = {};
  EXPECT_FAILS(musaErrorInvalidValue, musaDeviceGetPCIBusId(id, 1, 0));
}

CONFORMS(musaDeviceGetPCIBusId, zero, length_is_invalid_value) {
  char id[32] = {};
  EXPECT_FAILS(musaErrorInvalidValue, musaDeviceGetPCIBusId(id, 0, 0));
}

CONFORMS(musaDeviceGetPCIBusId, InvalidDevice, out_of_range) {
  char id[32] = {};
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaDeviceGetPCIBusId(id, sizeof id, device_count()));
}

CONFORMS(musaDeviceGetByPCIBusId, null, is_invalid_value) {
  int device = -1;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaDeviceGetByPCIBusId(nullptr, "0000:00:00.0"));
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaDeviceGetByPCIBusId(&device, nullptr));
}

CONFORMS(musaDeviceGetByPCIBusId, InvalidDevice, nobody_has_it) {
  int device = -1;
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaDeviceGetByPCIBusId(&device, "ffff:fe:1d.7"));
}

CONFORMS(musaDeviceGetByPCIBusId, InvalidValue, garbled_text) {
  int device = -1;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaDeviceGetByPCIBusId(&device, "no bus at all"));
}

CONFORMS(musaDeviceGetStreamPriorityRange, success, zero_down_to_negative) {
  int least = 1;
  int greatest = 1;
  EXPECT_OK(musaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(0, least);
  EXPECT_LE(greatest, -1);
}

CONFORMS(musaDeviceGetStreamPriorityRange, null, asks_for_one_only) {
  int least = 1;
  int greatest = 1;
  EXPECT_OK(musaDeviceGetStreamPriorityRange(&least, nullptr));
  EXPECT_OK(musaDeviceGetStreamPriorityRange(nullptr, &greatest));
  EXPECT_EQ(0, least);
  EXPECT_LE(greatest, -1);
}

CONFORMS(musaDriverGetVersion, success, is_positive) {
  int version = 0;
  EXPECT_OK(musaDriverGetVersion(&version));
  EXPECT_GT(version, 0);
}

CONFORMS(musaDriverGetVersion, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaDriverGetVersion(nullptr));
}
COVERS(
    musaDriverGetVersion,
    InvalidValue,
    musaDriverGetVersion,
    null_is_invalid_value)

CONFORMS(musaRuntimeGetVersion, success, is_the_headers) {
  int version = 0;
  EXPECT_OK(musaRuntimeGetVersion(&version));
  EXPECT_GT(version, 0);
#ifdef MUSART_VERSION
  EXPECT_EQ(MUSART_VERSION, version);
#endif
}

CONFORMS(musaRuntimeGetVersion, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaRuntimeGetVersion(nullptr));
}
COVERS(
    musaRuntimeGetVersion,
    InvalidValue,
    musaRuntimeGetVersion,
    null_is_invalid_value)

CONFORMS(musaMemGetInfo, success, follows_allocations) {
  std::size_t before = 0;
  std::size_t total = 0;
  EXPECT_OK(musaMemGetInfo(&before, &total));
  EXPECT_GT(total, 0U);
  EXPECT_LE(before, total);
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  {
    const Buffer buffer(kBytes);
    std::size_t during = 0;
    EXPECT_OK(musaMemGetInfo(&during, &total));
    EXPECT_LE(during + kBytes, before);
  }
  std::size_t after = 0;
  EXPECT_OK(musaMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

CONFORMS(musaMemGetInfo, null, asks_for_one_only) {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  EXPECT_OK(musaMemGetInfo(&free_bytes, nullptr));
  EXPECT_OK(musaMemGetInfo(nullptr, &total));
  EXPECT_GT(total, 0U);
  EXPECT_LE(free_bytes, total);
}

} // namespace conformance
