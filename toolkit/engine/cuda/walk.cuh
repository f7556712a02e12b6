// SPDX-License-Identifier: Apache-2.0
// A block's walk along a row that may start anywhere in a pack; device code.
#pragma once

#include "toolkit/engine/cuda/pack.h"

#include <cstdint>

namespace musa_standin::engine::cuda {

// A number of elements as a type.
template <int V>
struct Width {
  static constexpr int kCount = V;
};

// Elements in front of the first whole pack at or after the address.
template <class T, int V>
__device__ inline int elements_before(const T* at, int64_t n) {
  if constexpr (V == 1) {
    return 0;
  } else {
    const auto past =
        static_cast<int>(reinterpret_cast<uintptr_t>(at) / sizeof(T) % V);
    const int before = past == 0 ? 0 : V - past;
    return before < n ? before : static_cast<int>(n);
  }
}

// Calls one(i) for elements and several(i) for whole packs from element i on,
// each of [0, n) once, over the threads of blockDim.x. Rows at the same place
// in a pack may share a walk.
template <class T, int V, class One, class Several>
__device__ inline void
walk(const T* row, int64_t n, One&& one, Several&& several) {
  const int before = elements_before<T, V>(row, n);
  const int64_t packs = (n - before) / V;
  if constexpr (V > 1) {
    if (static_cast<int>(threadIdx.x) < before)
      one(static_cast<int64_t>(threadIdx.x));
    const int64_t at = before + packs * V + threadIdx.x;
    if (at < n)
      one(at);
  }
#pragma unroll 4
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x)
    several(before + p * V);
}

} // namespace musa_standin::engine::cuda
