// SPDX-License-Identifier: Apache-2.0
// From the number of an element to its place in strided operands.
#pragma once

#include "csrc/kernels/operands.h"

namespace torch_fl::kernels {

// Divides 32-bit numbers by a constant: a multiplication and a shift
// (Granlund and Montgomery 1994, figure 4.1).
struct Divider {
  uint32_t divisor;
  uint32_t multiplier;
  uint32_t shift;

  static Divider by(uint32_t divisor) {
    uint32_t shift = 0;
    while (shift < 32 && (uint64_t{1} << shift) < divisor) {
      ++shift;
    }
    const uint64_t multiplier =
        ((((uint64_t{1} << shift) - divisor) << 32) / divisor) + 1;
    return {divisor, static_cast<uint32_t>(multiplier), shift};
  }
  __host__ __device__ uint32_t quotient(uint32_t n) const {
    const auto high =
        static_cast<uint32_t>((static_cast<uint64_t>(n) * multiplier) >> 32);
    return static_cast<uint32_t>((static_cast<uint64_t>(high) + n) >> shift);
  }
};

// Offsets of K operands. With fewer than 2^31 elements no division is made.
template <int K>
struct Nest {
  int32_t rank;
  bool wide;
  Divider dims[kFlMaxRank];
  int64_t wide_dims[kFlMaxRank];
  int64_t strides[K][kFlMaxRank];

  // Of the output and the K - 1 operands from `first` on.
  static Nest of(const FlOperands& v, int first = 1) {
    Nest nest;
    nest.rank = v.rank;
    nest.wide = v.numel > INT32_MAX;
    for (int d = 0; d < v.rank; ++d) {
      nest.wide_dims[d] = v.dims[d];
      nest.dims[d] =
          Divider::by(nest.wide ? 1 : static_cast<uint32_t>(v.dims[d]));
      for (int a = 0; a < K; ++a) {
        nest.strides[a][d] = v.strides[a == 0 ? 0 : first + a - 1][d];
      }
    }
    return nest;
  }

  // Of dimensions and strides as they stand.
  static Nest of(
      int32_t rank,
      int64_t numel,
      const int64_t* dims,
      const int64_t (*strides)[kFlMaxRank]) {
    Nest nest;
    nest.rank = rank;
    nest.wide = numel > INT32_MAX;
    for (int d = 0; d < rank; ++d) {
      nest.wide_dims[d] = dims[d];
      nest.dims[d] =
          Divider::by(nest.wide ? 1 : static_cast<uint32_t>(dims[d]));
      for (int a = 0; a < K; ++a) {
        nest.strides[a][d] = strides[a][d];
      }
    }
    return nest;
  }

  __host__ __device__ void offsets(int64_t i, int64_t (&at)[K]) const {
    for (int a = 0; a < K; ++a) {
      at[a] = 0;
    }
    if (wide) {
      for (int d = 0; d < rank; ++d) {
        const int64_t rest = i / wide_dims[d];
        advance(at, d, i - rest * wide_dims[d]);
        i = rest;
      }
      return;
    }
    auto n = static_cast<uint32_t>(i);
    for (int d = 0; d < rank; ++d) {
      const uint32_t rest = dims[d].quotient(n);
      advance(at, d, n - rest * dims[d].divisor);
      n = rest;
    }
  }

 private:
  __host__ __device__ void advance(int64_t (&at)[K], int dim, int64_t index)
      const {
    for (int a = 0; a < K; ++a) {
      at[a] += index * strides[a][dim];
    }
  }
};

} // namespace torch_fl::kernels
