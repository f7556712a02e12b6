// SPDX-License-Identifier: Apache-2.0
// From Philox words to real numbers: what the distributions have in common.
#pragma once

#include "csrc/kernels/distribution.h"
#include "csrc/kernels/launch.h"
#include "csrc/kernels/philox.h"
#include "csrc/kernels/scalar.h"

#include <math.h> // mcc and nvcc know its functions on the device

namespace torch_fl::kernels {

constexpr int64_t kDrawGrain = 2048;

// Random bits and what is computed of them: 32 for floats, 64 for doubles.
struct Narrow {
  using Real = float;
  using Bits = uint32_t;
  static constexpr int kPerBlock = 4;
  static constexpr float kStep = 0x1p-32F;

  __host__ __device__ static Bits bits(const PhiloxBlock& block, int i) {
    return block.word[i];
  }
  __host__ __device__ static float log(float x) { return logf(x); }
  __host__ __device__ static float log1p(float x) { return log1pf(x); }
  __host__ __device__ static float exp(float x) { return expf(x); }
  __host__ __device__ static float tan(float x) { return tanf(x); }
  __host__ __device__ static float sin(float x) { return sinf(x); }
  __host__ __device__ static float cos(float x) { return cosf(x); }
  __host__ __device__ static float sqrt(float x) { return sqrtf(x); }
  __host__ __device__ static float ceil(float x) { return ceilf(x); }
};
struct Wide {
  using Real = double;
  using Bits = uint64_t;
  static constexpr int kPerBlock = 2;
  static constexpr double kStep = 0x1p-64;

  __host__ __device__ static Bits bits(const PhiloxBlock& block, int i) {
    return block.pair(i);
  }
  __host__ __device__ static double log(double x) { return ::log(x); }
  __host__ __device__ static double log1p(double x) { return ::log1p(x); }
  __host__ __device__ static double exp(double x) { return ::exp(x); }
  __host__ __device__ static double tan(double x) { return ::tan(x); }
  __host__ __device__ static double sin(double x) { return ::sin(x); }
  __host__ __device__ static double cos(double x) { return ::cos(x); }
  __host__ __device__ static double sqrt(double x) { return ::sqrt(x); }
  __host__ __device__ static double ceil(double x) { return ::ceil(x); }
};

template <class T>
struct Drawn {
  using M = Wide;
};
template <>
struct Drawn<float> {
  using M = Narrow;
};
template <>
struct Drawn<Half> {
  using M = Narrow;
};
template <>
struct Drawn<Bfloat16> {
  using M = Narrow;
};

// In the middle of a step of (0, 1); may round to 1.
template <class M>
__host__ __device__ typename M::Real unit(typename M::Bits bits) {
  using Real = typename M::Real;
  return (static_cast<Real>(bits) + Real{0.5}) * M::kStep;
}

// An exponential number: -log(u) with u near 1 as exact as near 0, so that it
// is never 0.
template <class M>
__host__ __device__ typename M::Real waiting(typename M::Bits bits) {
  using Bits = typename M::Bits;
  const bool near_one = bits >> (sizeof(Bits) * 8 - 1) != 0;
  const auto u = unit<M>(near_one ? static_cast<Bits>(~bits) : bits);
  return near_one ? -M::log1p(-u) : -M::log(u);
}

inline PhiloxPlace place_of(const FlSequence& s) {
  return {
      s.seed,
      (s.offset + 3) / 4, // set_offset may stand within a block
      s.words == nullptr ? nullptr : reachable<uint64_t>(s.words)};
}

} // namespace torch_fl::kernels
