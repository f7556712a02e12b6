// SPDX-License-Identifier: Apache-2.0
// Half and bfloat16 as bit patterns, and conversions that vectorise; a device
// has instructions for them.
#pragma once

#include <cstdint>

#ifndef MUSA_KERNEL_FN
#if defined(__CUDACC__)
#define MUSA_KERNEL_FN __host__ __device__ inline
#else
#define MUSA_KERNEL_FN inline
#endif
#endif

// Kernel headers stand in unnamed namespaces: each file that includes them has
// its own copy, compiled for its own instruction set.
namespace musa_standin::kernels {
namespace {

struct Half {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};
struct Bool {
  uint8_t bits;
};

template <class To, class From>
MUSA_KERNEL_FN To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

MUSA_KERNEL_FN float to_float(Bfloat16 v) {
  return bits_as<float>(static_cast<uint32_t>(v.bits) << 16);
}

// Nearest, ties to even; a NaN stays one.
MUSA_KERNEL_FN Bfloat16 to_bfloat16(float v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  Bfloat16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(v));
  return r;
#else
  const uint32_t b = bits_as<uint32_t>(v);
  const uint32_t rounded = b + 0x7FFFU + ((b >> 16) & 1U);
  const bool nan = (b & 0x7FFFFFFFU) > 0x7F800000U;
  return {static_cast<uint16_t>((nan ? (b | 0x00400000U) : rounded) >> 16)};
#endif
}

MUSA_KERNEL_FN float to_float(Half v) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v.bits));
  return r;
#else
  const uint32_t sign = static_cast<uint32_t>(v.bits & 0x8000U) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(v.bits & 0x7FFFU) << 13;
  // Normal numbers: move the exponent. Infinity and NaN: move it twice.
  const uint32_t shift = magnitude >= 0x0F800000U ? 0x70000000U : 0x38000000U;
  const float normal = bits_as<float>(magnitude + shift);
  // Denormals: an integer times 2^-24.
  const float small =
      static_cast<float>(static_cast<int32_t>(v.bits & 0x7FFFU)) * 0x1p-24F;
  const uint32_t chosen = magnitude < 0x00800000U ? bits_as<uint32_t>(small)
                                                  : bits_as<uint32_t>(normal);
  return bits_as<float>(chosen | sign);
#endif
}

MUSA_KERNEL_FN Half to_half(float v) {
#if defined(__CUDA_ARCH__)
  Half r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(v));
  return r;
#else
  const uint32_t b = bits_as<uint32_t>(v);
  const uint32_t sign = (b >> 16) & 0x8000U;
  const uint32_t a = b & 0x7FFFFFFFU;
  const uint32_t normal = (a - 0x38000000U + 0x0FFFU + ((a >> 13) & 1U)) >> 13;
  // Below the normal range: the addition rounds to a multiple of 2^-24.
  const uint32_t small =
      bits_as<uint32_t>(bits_as<float>(a) + 0.5F) - 0x3F000000U;
  uint32_t r = a < 0x38800000U ? small : normal;
  r = a >= 0x477FF000U ? 0x7C00U : r; // rounds to infinity
  r = a > 0x7F800000U ? (0x7E00U | ((a >> 13) & 0x1FFU)) : r;
  return {static_cast<uint16_t>(sign | r)};
#endif
}

} // namespace
} // namespace musa_standin::kernels
