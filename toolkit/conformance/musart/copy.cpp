// SPDX-License-Identifier: Apache-2.0
// Copies and fills in one and two dimensions, between host, device and peers.
#include "support/conforms.h"

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace conformance {

namespace {

std::vector<unsigned char> pattern(std::size_t bytes, int start = 0) {
  std::vector<unsigned char> result(bytes);
  std::iota(result.begin(), result.end(), static_cast<unsigned char>(start));
  return result;
}

constexpr std::size_t kBytes = 100'003;

void upload(const Buffer& buffer, const std::vector<unsigned char>& host) {
  ASSERT_MUSA(musaMemcpy(
      buffer.get(),
      host.data(),
      host.size(),
      musaMemcpyHostToDevice));
}

constexpr auto kBadKind = static_cast<musaMemcpyKind>(17);

} // namespace

CONFORMS(musaMemcpy, success, round_trip_in_every_direction) {
  const auto host = pattern(kBytes);
  const Buffer first(kBytes);
  const Buffer second(kBytes);
  std::vector<unsigned char> back(kBytes);
  for (const bool guess : {false, true}) {
    const auto kind = [&](musaMemcpyKind exact) {
      return guess ? musaMemcpyDefault : exact;
    };
    first.fill(0);
    second.fill(0);
    EXPECT_OK(musaMemcpy(
        first.get(),
        host.data(),
        kBytes,
        kind(musaMemcpyHostToDevice)));
    EXPECT_OK(musaMemcpy(
        second.get(),
        first.get(),
        kBytes,
        kind(musaMemcpyDeviceToDevice)));
    std::fill(back.begin(), back.end(), 0);
    EXPECT_OK(musaMemcpy(
        back.data(),
        second.get(),
        kBytes,
        kind(musaMemcpyDeviceToHost)));
    EXPECT_EQ(host, back);
    std::fill(back.begin(), back.end(), 0);
    EXPECT_OK(musaMemcpy(
        back.data(),
        host.data(),
        kBytes,
        kind(musaMemcpyHostToHost)));
    EXPECT_EQ(host, back);
  }
}

CONFORMS(musaMemcpy, zero, touches_nothing) {
  EXPECT_OK(musaMemcpy(nullptr, nullptr, 0, musaMemcpyHostToDevice));
  const Buffer buffer(16);
  unsigned char host = 0;
  EXPECT_OK(musaMemcpy(buffer.get(), &host, 0, musaMemcpyHostToDevice));
  EXPECT_OK(musaMemcpy(&host, buffer.get(), 0, musaMemcpyDeviceToHost));
  EXPECT_OK(musaMemcpy(buffer.get(), nullptr, 0, musaMemcpyDefault));
}

CONFORMS(musaMemcpy, null, is_invalid_value) {
  const Buffer buffer(16);
  unsigned char host[16] = {};
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemcpy(nullptr, host, 16, musaMemcpyHostToDevice));
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemcpy(host, nullptr, 16, musaMemcpyDeviceToHost));
}

CONFORMS(musaMemcpy, InvalidMemcpyDirection, unknown_kind) {
  const Buffer buffer(16);
  unsigned char host[16] = {};
  EXPECT_FAILS(
      musaErrorInvalidMemcpyDirection,
      musaMemcpy(buffer.get(), host, 16, kBadKind));
}

CONFORMS(musaMemcpy, InvalidValue, past_the_end) {
  const Buffer buffer(256);
  std::vector<unsigned char> host(1 << 20);
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemcpy(
          buffer.get(),
          host.data(),
          host.size(),
          musaMemcpyHostToDevice));
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemcpy(host.data(), buffer.at(128), 256, musaMemcpyDeviceToHost));
}

BEHAVES(copy, interior_pointers_copy_exactly_the_range) {
  const Buffer buffer(1024);
  buffer.fill(9);
  const auto host = pattern(100, 50);
  EXPECT_OK(musaMemcpy(
      buffer.at(333),
      host.data(),
      host.size(),
      musaMemcpyHostToDevice));
  const auto all = buffer.read();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const unsigned char expected =
        i >= 333 && i < 433 ? host[i - 333] : std::uint8_t{9};
    ASSERT_EQ(expected, all[i]) << i;
  }
}

BEHAVES(copy, pageable_source_may_change_after_return) {
  Stream stream(musaStreamNonBlocking);
  const Buffer buffer(kBytes);
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  auto host = pattern(4096);
  const auto original = host;
  // A small pageable upload is staged, as CUDA does up to 64 KiB.
  EXPECT_OK(musaMemcpyAsync(
      buffer.get(),
      host.data(),
      host.size(),
      musaMemcpyHostToDevice,
      stream));
  std::fill(host.begin(), host.end(), 0xEE);
  gate.open();
  EXPECT_OK(musaStreamSynchronize(stream));
  std::vector<unsigned char> back(original.size());
  EXPECT_OK(musaMemcpy(
      back.data(),
      buffer.get(),
      back.size(),
      musaMemcpyDeviceToHost));
  EXPECT_EQ(original, back);
}

CONFORMS(musaMemcpyAsync, success, runs_in_stream_order) {
  Stream stream(musaStreamNonBlocking);
  void* pinned = nullptr;
  ASSERT_MUSA(musaMallocHost(&pinned, kBytes));
  std::memset(pinned, 1, kBytes);
  const Buffer buffer(kBytes);
  EXPECT_OK(musaMemcpyAsync(
      buffer.get(),
      pinned,
      kBytes,
      musaMemcpyHostToDevice,
      stream));
  EXPECT_OK(musaMemsetAsync(buffer.at(10), 2, 10, stream));
  EXPECT_OK(musaMemcpyAsync(
      pinned,
      buffer.get(),
      kBytes,
      musaMemcpyDeviceToHost,
      stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  const auto* bytes = static_cast<unsigned char*>(pinned);
  EXPECT_EQ(1, bytes[9]);
  EXPECT_EQ(2, bytes[10]);
  EXPECT_EQ(2, bytes[19]);
  EXPECT_EQ(1, bytes[20]);
  EXPECT_EQ(1, bytes[kBytes - 1]);
  EXPECT_OK(musaFreeHost(pinned));
}

CONFORMS(musaMemcpyAsync, zero, touches_nothing) {
  EXPECT_OK(
      musaMemcpyAsync(nullptr, nullptr, 0, musaMemcpyDeviceToDevice, nullptr));
}

CONFORMS(musaMemcpyAsync, null, is_invalid_value) {
  unsigned char host[16] = {};
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemcpyAsync(nullptr, host, 16, musaMemcpyHostToDevice, nullptr));
}
COVERS(musaMemcpyAsync, InvalidValue, musaMemcpyAsync, null_is_invalid_value)

CONFORMS(musaMemcpyAsync, InvalidMemcpyDirection, unknown_kind) {
  const Buffer buffer(16);
  unsigned char host[16] = {};
  EXPECT_FAILS(
      musaErrorInvalidMemcpyDirection,
      musaMemcpyAsync(buffer.get(), host, 16, kBadKind, nullptr));
}

CONFORMS(musaMemcpyAsync, InvalidResourceHandle, freed_stream) {
  const Buffer buffer(16);
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaMemcpyAsync(
          buffer.get(),
          buffer.at(8),
          8,
          musaMemcpyDeviceToDevice,
          freed_stream()));
}

CONFORMS(musaMemcpyPeer, success, between_all_devices) {
  const auto host = pattern(kBytes, 3);
  for (int from = 0; from < device_count(); ++from) {
    for (int to = 0; to < device_count(); ++to) {
      EXPECT_OK(musaSetDevice(from));
      const Buffer source(kBytes);
      upload(source, host);
      EXPECT_OK(musaSetDevice(to));
      const Buffer target(kBytes);
      EXPECT_OK(musaSetDevice(0));
      EXPECT_OK(musaMemcpyPeer(target.get(), to, source.get(), from, kBytes));
      EXPECT_EQ(host, target.read()) << from << " to " << to;
    }
  }
}

CONFORMS(musaMemcpyPeer, zero, touches_nothing) {
  EXPECT_OK(musaMemcpyPeer(nullptr, 0, nullptr, 0, 0));
}

CONFORMS(musaMemcpyPeer, null, is_invalid_value) {
  const Buffer buffer(16);
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemcpyPeer(nullptr, 0, buffer.get(), 0, 16));
}
COVERS(musaMemcpyPeer, InvalidValue, musaMemcpyPeer, null_is_invalid_value)

CONFORMS(musaMemcpyPeer, InvalidDevice, out_of_range) {
  const Buffer buffer(32);
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaMemcpyPeer(buffer.get(), device_count(), buffer.at(16), 0, 16));
}

CONFORMS(musaMemcpyPeerAsync, success, runs_on_the_stream) {
  const int last = device_count() - 1;
  const auto host = pattern(kBytes, 4);
  const Buffer source(kBytes);
  upload(source, host);
  EXPECT_OK(musaSetDevice(last));
  const Buffer target(kBytes);
  EXPECT_OK(musaSetDevice(0));
  Stream stream(musaStreamNonBlocking);
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_OK(
      musaMemcpyPeerAsync(target.get(), last, source.get(), 0, kBytes, stream));
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(stream));
  gate.open();
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(host, target.read());
}

CONFORMS(musaMemcpyPeerAsync, zero, touches_nothing) {
  EXPECT_OK(musaMemcpyPeerAsync(nullptr, 0, nullptr, 0, 0, nullptr));
}

CONFORMS(musaMemcpyPeerAsync, null, is_invalid_value) {
  const Buffer buffer(16);
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemcpyPeerAsync(buffer.get(), 0, nullptr, 0, 16, nullptr));
}
COVERS(
    musaMemcpyPeerAsync,
    InvalidValue,
    musaMemcpyPeerAsync,
    null_is_invalid_value)

CONFORMS(musaMemcpyPeerAsync, InvalidDevice, out_of_range) {
  const Buffer buffer(32);
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaMemcpyPeerAsync(buffer.get(), 0, buffer.at(16), -1, 16, nullptr));
}

CONFORMS(musaMemcpyPeerAsync, InvalidResourceHandle, freed_stream) {
  const Buffer buffer(32);
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaMemcpyPeerAsync(
          buffer.get(),
          0,
          buffer.at(16),
          0,
          16,
          freed_stream()));
}

CONFORMS(musaMemset, success, fills_exactly_the_range) {
  const Buffer buffer(1000);
  buffer.fill(1);
  EXPECT_OK(musaMemset(buffer.at(7), 0x1FE, 11));
  const auto all = buffer.read();
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(i >= 7 && i < 18 ? 0xFE : 1, all[i]) << i;
  }
}

CONFORMS(musaMemset, zero, touches_nothing) {
  EXPECT_OK(musaMemset(nullptr, 1, 0));
}

CONFORMS(musaMemset, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaMemset(nullptr, 1, 16));
}

CONFORMS(musaMemset, InvalidValue, past_the_end_or_pageable) {
  const Buffer buffer(256);
  EXPECT_FAILS(musaErrorInvalidValue, musaMemset(buffer.get(), 1, 1U << 20));
  unsigned char host[16] = {};
  EXPECT_FAILS(musaErrorInvalidValue, musaMemset(host, 1, 16));
}

CONFORMS(musaMemsetAsync, success, runs_on_the_stream) {
  Stream stream(musaStreamNonBlocking);
  const Buffer buffer(4096);
  buffer.fill(1);
  EXPECT_OK(musaDeviceSynchronize());
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_OK(musaMemsetAsync(buffer.get(), 2, 4096, stream));
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(stream));
  gate.open();
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(2, buffer.read()[4095]);
}

CONFORMS(musaMemsetAsync, zero, touches_nothing) {
  EXPECT_OK(musaMemsetAsync(nullptr, 1, 0, nullptr));
}

CONFORMS(musaMemsetAsync, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaMemsetAsync(nullptr, 1, 16, nullptr));
}
COVERS(musaMemsetAsync, InvalidValue, musaMemsetAsync, null_is_invalid_value)

CONFORMS(musaMemsetAsync, InvalidResourceHandle, freed_stream) {
  const Buffer buffer(16);
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaMemsetAsync(buffer.get(), 1, 16, freed_stream()));
}

BEHAVES(copy, zero_bytes_on_a_freed_stream_is_refused) {
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaMemsetAsync(nullptr, 1, 0, freed_stream()));
}

} // namespace conformance
