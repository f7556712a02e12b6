// SPDX-License-Identifier: Apache-2.0
// 16-bit floating numbers as storage, made of and into floats.
#pragma once

#include <cstdint>

namespace torch_fl::kernels {

union FloatBits {
  float value;
  uint32_t bits;
};

__host__ __device__ inline uint32_t bits_of(float value) {
  FloatBits u{};
  u.value = value;
  return u.bits;
}
__host__ __device__ inline float float_of(uint32_t bits) {
  FloatBits u{};
  u.bits = bits;
  return u.value;
}

// Conversions round to nearest, ties to even; NaN stays NaN. Written with
// integers: the three compilers name their own 16-bit types differently.
struct Bfloat16 {
  uint16_t bits;

  Bfloat16() = default;
  __host__ __device__ explicit Bfloat16(float value) {
    const uint32_t u = bits_of(value);
    bits = (u & 0x7FFFFFFFU) > 0x7F800000U
        ? static_cast<uint16_t>(0x7FC0)
        : static_cast<uint16_t>((u + 0x7FFFU + ((u >> 16) & 1U)) >> 16);
  }
  __host__ __device__ explicit operator float() const {
    return float_of(static_cast<uint32_t>(bits) << 16);
  }
};

struct Half {
  uint16_t bits;

  Half() = default;
  __host__ __device__ explicit Half(float value) {
    const uint32_t u = bits_of(value);
    const uint32_t sign = (u >> 16) & 0x8000U;
    const uint32_t magnitude = u & 0x7FFFFFFFU;
    uint32_t h = 0;
    if (magnitude > 0x7F800000U) {
      h = 0x7E00U;
    } else if (magnitude >= 0x47800000U) {
      h = 0x7C00U; // 65536 and more
    } else if (magnitude >= 0x38800000U) {
      const uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
      h = (rounded - 0x38000000U) >> 13;
    } else {
      // The sum's last bit is worth 2^-24: the adder rounds.
      h = bits_of(float_of(magnitude) + 0.5F) - 0x3F000000U;
    }
    bits = static_cast<uint16_t>(sign | h);
  }
  __host__ __device__ explicit operator float() const {
    const uint32_t sign = (static_cast<uint32_t>(bits) & 0x8000U) << 16;
    const uint32_t magnitude = static_cast<uint32_t>(bits) & 0x7FFFU;
    if (magnitude >= 0x7C00U) {
      return float_of(sign | 0x7F800000U | (magnitude & 0x3FFU) << 13);
    }
    // 2^112 moves the exponent and makes denormals normal.
    const float scaled =
        float_of(magnitude << 13) * 5192296858534827628530496329220096.0F;
    return float_of(bits_of(scaled) | sign);
  }
};

} // namespace torch_fl::kernels
