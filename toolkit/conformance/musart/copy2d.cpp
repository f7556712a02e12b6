// SPDX-License-Identifier: Apache-2.0
// Pitched copies and fills.
#include "support/conforms.h"

#include <cstdint>
#include <vector>

namespace conformance {

namespace {

constexpr std::size_t kWidth = 13;
constexpr std::size_t kHeight = 7;
constexpr std::size_t kHostPitch = 16;
constexpr std::size_t kDevicePitch = 64;

std::vector<unsigned char> rows_of_numbers() {
  std::vector<unsigned char> host(kHostPitch * kHeight, 0xEE);
  for (std::size_t y = 0; y < kHeight; ++y) {
    for (std::size_t x = 0; x < kWidth; ++x) {
      host[y * kHostPitch + x] = static_cast<unsigned char>(y * kWidth + x);
    }
  }
  return host;
}

void expect_rows(const std::vector<unsigned char>& device, int padding) {
  for (std::size_t y = 0; y < kHeight; ++y) {
    for (std::size_t x = 0; x < kDevicePitch; ++x) {
      const int expected =
          x < kWidth ? static_cast<int>(y * kWidth + x) : padding;
      ASSERT_EQ(expected, device[y * kDevicePitch + x]) << y << "," << x;
    }
  }
}

} // namespace

CONFORMS(musaMemcpy2D, success, keeps_the_padding) {
  const auto host = rows_of_numbers();
  const Buffer buffer(kDevicePitch * kHeight);
  buffer.fill(0x55);
  EXPECT_OK(musaMemcpy2D(
      buffer.get(),
      kDevicePitch,
      host.data(),
      kHostPitch,
      kWidth,
      kHeight,
      musaMemcpyHostToDevice));
  expect_rows(buffer.read(), 0x55);
  std::vector<unsigned char> back(kHostPitch * kHeight, 0xEE);
  EXPECT_OK(musaMemcpy2D(
      back.data(),
      kHostPitch,
      buffer.get(),
      kDevicePitch,
      kWidth,
      kHeight,
      musaMemcpyDeviceToHost));
  EXPECT_EQ(host, back);
}

CONFORMS(musaMemcpy2D, zero, width_or_height) {
  const Buffer buffer(64);
  unsigned char host[64] = {};
  EXPECT_OK(
      musaMemcpy2D(buffer.get(), 8, host, 8, 0, 4, musaMemcpyHostToDevice));
  EXPECT_OK(
      musaMemcpy2D(buffer.get(), 8, host, 8, 4, 0, musaMemcpyHostToDevice));
}

CONFORMS(musaMemcpy2D, null, is_invalid_value) {
  unsigned char host[64] = {};
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemcpy2D(nullptr, 8, host, 8, 4, 4, musaMemcpyHostToDevice));
}
COVERS(musaMemcpy2D, InvalidValue, musaMemcpy2D, null_is_invalid_value)

CONFORMS(musaMemcpy2D, InvalidPitchValue, pitch_below_width) {
  const Buffer buffer(64);
  unsigned char host[64] = {};
  EXPECT_FAILS(
      musaErrorInvalidPitchValue,
      musaMemcpy2D(buffer.get(), 4, host, 8, 5, 4, musaMemcpyHostToDevice));
  EXPECT_FAILS(
      musaErrorInvalidPitchValue,
      musaMemcpy2D(buffer.get(), 8, host, 4, 5, 4, musaMemcpyHostToDevice));
}

CONFORMS(musaMemcpy2D, InvalidMemcpyDirection, unknown_kind) {
  const Buffer buffer(64);
  unsigned char host[64] = {};
  EXPECT_FAILS(
      musaErrorInvalidMemcpyDirection,
      musaMemcpy2D(
          buffer.get(),
          8,
          host,
          8,
          4,
          4,
          static_cast<musaMemcpyKind>(9)));
}

CONFORMS(musaMemcpy2DAsync, success, runs_on_the_stream) {
  const auto host = rows_of_numbers();
  const Buffer buffer(kDevicePitch * kHeight);
  buffer.fill(0x66);
  EXPECT_OK(musaDeviceSynchronize());
  Stream stream(musaStreamNonBlocking);
  EXPECT_OK(musaMemcpy2DAsync(
      buffer.get(),
      kDevicePitch,
      host.data(),
      kHostPitch,
      kWidth,
      kHeight,
      musaMemcpyHostToDevice,
      stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  expect_rows(buffer.read(), 0x66);
}

CONFORMS(musaMemcpy2DAsync, zero, width_or_height) {
  EXPECT_OK(musaMemcpy2DAsync(
      nullptr,
      8,
      nullptr,
      8,
      0,
      4,
      musaMemcpyDeviceToDevice,
      nullptr));
}

CONFORMS(musaMemcpy2DAsync, null, is_invalid_value) {
  unsigned char host[64] = {};
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemcpy2DAsync(
          nullptr,
          8,
          host,
          8,
          4,
          4,
          musaMemcpyHostToDevice,
          nullptr));
}
COVERS(
    musaMemcpy2DAsync,
    InvalidValue,
    musaMemcpy2DAsync,
    null_is_invalid_value)

CONFORMS(musaMemcpy2DAsync, InvalidPitchValue, pitch_below_width) {
  const Buffer buffer(64);
  EXPECT_FAILS(
      musaErrorInvalidPitchValue,
      musaMemcpy2DAsync(
          buffer.get(),
          2,
          buffer.at(32),
          8,
          4,
          4,
          musaMemcpyDeviceToDevice,
          nullptr));
}

CONFORMS(musaMemcpy2DAsync, InvalidMemcpyDirection, unknown_kind) {
  const Buffer buffer(64);
  unsigned char host[64] = {};
  EXPECT_FAILS(
      musaErrorInvalidMemcpyDirection,
      musaMemcpy2DAsync(
          buffer.get(),
          8,
          host,
          8,
          4,
          4,
          static_cast<musaMemcpyKind>(9),
          nullptr));
}

CONFORMS(musaMemcpy2DAsync, InvalidResourceHandle, freed_stream) {
  const Buffer buffer(64);
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaMemcpy2DAsync(
          buffer.get(),
          8,
          buffer.at(32),
          8,
          4,
          4,
          musaMemcpyDeviceToDevice,
          freed_stream()));
}

CONFORMS(musaMemset2D, success, keeps_the_padding) {
  const Buffer buffer(kDevicePitch * kHeight);
  buffer.fill(1);
  EXPECT_OK(musaMemset2D(buffer.get(), kDevicePitch, 2, kWidth, kHeight));
  const auto all = buffer.read();
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(i % kDevicePitch < kWidth ? 2 : 1, all[i]) << i;
  }
}

CONFORMS(musaMemset2D, zero, width_or_height) {
  EXPECT_OK(musaMemset2D(nullptr, 8, 1, 0, 4));
  EXPECT_OK(musaMemset2D(nullptr, 8, 1, 4, 0));
}

CONFORMS(musaMemset2D, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaMemset2D(nullptr, 8, 1, 4, 4));
}
COVERS(musaMemset2D, InvalidValue, musaMemset2D, null_is_invalid_value)

CONFORMS(musaMemset2DAsync, success, runs_on_the_stream) {
  Stream stream(musaStreamNonBlocking);
  const Buffer buffer(kDevicePitch * kHeight);
  buffer.fill(1);
  EXPECT_OK(musaDeviceSynchronize());
  EXPECT_OK(musaMemset2DAsync(
      buffer.get(),
      kDevicePitch,
      3,
      kWidth,
      kHeight,
      stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  const auto all = buffer.read();
  EXPECT_EQ(3, all[kDevicePitch * (kHeight - 1) + kWidth - 1]);
  EXPECT_EQ(1, all[kDevicePitch * (kHeight - 1) + kWidth]);
}

CONFORMS(musaMemset2DAsync, zero, width_or_height) {
  EXPECT_OK(musaMemset2DAsync(nullptr, 8, 1, 0, 4, nullptr));
}

CONFORMS(musaMemset2DAsync, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMemset2DAsync(nullptr, 8, 1, 4, 4, nullptr));
}
COVERS(
    musaMemset2DAsync,
    InvalidValue,
    musaMemset2DAsync,
    null_is_invalid_value)

CONFORMS(musaMemset2DAsync, InvalidResourceHandle, freed_stream) {
  const Buffer buffer(64);
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaMemset2DAsync(buffer.get(), 8, 1, 4, 4, freed_stream()));
}

} // namespace conformance
