// SPDX-License-Identifier: Apache-2.0
// Scale and shift in the elements' type or the wider one; device code.
#pragma once

#include "toolkit/engine/cuda/pack.h"

#include <cstdint>

namespace musa_standin::engine::cuda {

// V elements from an address that is a whole pack's of T if V is more than one.
template <class T, int V>
__device__ inline void load_affine(
    const void* from,
    bool wide,
    int64_t at,
    kernels::Wide<T> (&to)[V]) {
  using W = kernels::Wide<T>;
  if (!wide) {
    load_wide<V>(static_cast<const T*>(from) + at, to);
    return;
  }
  constexpr int kStep = V < kPack<W> ? V : kPack<W>;
#pragma unroll
  for (int i = 0; i < V; i += kStep) {
    const Pack<W, kStep> pack =
        load_pack<kStep>(static_cast<const W*>(from) + at + i);
#pragma unroll
    for (int j = 0; j < kStep; ++j)
      to[i + j] = pack.e[j];
  }
}

template <class T>
__device__ inline void
store_affine(void* to, bool wide, int64_t at, kernels::Wide<T> value) {
  if (wide) {
    static_cast<kernels::Wide<T>*>(to)[at] = value;
  } else {
    static_cast<T*>(to)[at] = narrow_of<T>(value);
  }
}

} // namespace musa_standin::engine::cuda
