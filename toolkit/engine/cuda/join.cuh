// SPDX-License-Identifier: Apache-2.0
// Joins the threads' parts of a result in a fixed order; device code.
#pragma once

#include "toolkit/engine/cuda/launch.h"

#include <cstdint>

namespace musa_standin::engine::cuda {

constexpr int kMaxWarps = 32; // of a block

// The lane's value whose number differs in these bits.
template <class S>
__device__ inline S other_lane(const S& s, int bits) {
  static_assert(sizeof(S) % 4 == 0, "whole words");
  constexpr int kWords = static_cast<int>(sizeof(S) / 4);
  uint32_t words[kWords];
  __builtin_memcpy(words, &s, sizeof s);
#pragma unroll
  for (int i = 0; i < kWords; ++i)
    words[i] = __shfl_xor_sync(0xFFFFFFFFU, words[i], bits);
  S other;
  __builtin_memcpy(&other, words, sizeof other);
  return other;
}

// Over each `width` neighbours of a warp (a power of two); all get the result
// if join(a, b) and join(b, a) are the same.
template <class S, class Join>
__device__ inline S join_lanes(S s, int width, Join&& join) {
  for (int bits = 1; bits < width; bits *= 2)
    s = join(s, other_lane(s, bits));
  return s;
}

// Over the `width` threads of a row of the block: blockDim.x, a power of two.
// All threads of the block call it. `warps` holds a part for each warp.
template <class S, class Join>
__device__ inline S join_row(S s, int width, S* warps, Join&& join) {
  s = join_lanes(s, width < kWarp ? width : kWarp, join);
  if (width <= kWarp)
    return s;
  const int thread = threadIdx.y * width + threadIdx.x;
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const int parts = width / kWarp;
  __syncthreads(); // an earlier call may still read
  if (lane == 0)
    warps[warp] = s;
  __syncthreads();
  return join_lanes(
      warps[warp / parts * parts + (lane & (parts - 1))],
      parts,
      join);
}

template <class W>
__device__ inline W row_sum(W value, int width, W* warps) {
  return join_row(value, width, warps, [](W a, W b) { return a + b; });
}

} // namespace musa_standin::engine::cuda
