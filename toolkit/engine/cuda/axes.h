// SPDX-License-Identifier: Apache-2.0
// A few axes of one strided operand, and the offset of a linear position in
// them, which may go beyond 32 bits.
#pragma once

#include "toolkit/engine/cuda/offsets.h"

namespace musa_standin::engine::cuda {

// Extents and strides in elements, outermost first.
struct Axes {
  int32_t rank = 0;
  bool wide = false; // 2^31 positions or more
  int64_t dims[kMaxRank];
  int64_t strides[kMaxRank];
  Divider by[kMaxRank];

  void add(int64_t dim, int64_t stride) {
    dims[rank] = dim;
    strides[rank++] = stride;
  }
  [[nodiscard]] int64_t last_dim() const { return dims[rank - 1]; }
  [[nodiscard]] int64_t last_stride() const { return strides[rank - 1]; }
  // Can all offsets be taken in steps of `width` elements?
  [[nodiscard]] bool in_steps(int64_t width) const {
    for (int d = 0; d + 1 < rank; ++d) {
      if (strides[d] % width != 0)
        return false;
    }
    return true;
  }

  // Drops extents of one and merges neighbours; orders the axes by stride,
  // largest first, if their order is free. One axis is left at least.
  void merge(bool keep_order);
  // Counts the last axis, which must be contiguous, in packs of so many.
  void pack(int64_t width) {
    dims[rank - 1] /= width;
    strides[rank - 1] *= width;
  }
  // Makes the reciprocals; after all else.
  void finish();

#if defined(__CUDACC__)
  __device__ int64_t offset(int64_t position) const {
    if (rank == 1)
      return position * strides[0];
    int64_t sum = 0;
    if (wide) {
#pragma unroll 1
      for (int d = rank - 1; d > 0; --d) {
        sum += position % dims[d] * strides[d];
        position /= dims[d];
      }
      return sum + position * strides[0];
    }
    uint32_t rest = static_cast<uint32_t>(position);
#pragma unroll 1
    for (int d = rank - 1; d > 0; --d) {
      const uint32_t q = by[d].quotient(rest);
      sum += (rest - q * by[d].divisor) * strides[d];
      rest = q;
    }
    return sum + rest * strides[0];
  }
#endif
};

} // namespace musa_standin::engine::cuda
