// SPDX-License-Identifier: Apache-2.0
// Elements as packs of up to 16 bytes, and their conversion in kernels.
#pragma once

#include "toolkit/kernels/convert.h"
#include "toolkit/kernels/widen.h"

#include <cstddef>
#include <cstdint>

namespace musa_standin::engine::cuda {

constexpr int64_t kPackBytes = 16;

// Elements of a whole pack.
template <class T>
constexpr int kPack = static_cast<int>(kPackBytes / sizeof(T));

template <class T, int V>
struct alignas(sizeof(T) * static_cast<size_t>(V)) Pack {
  T e[static_cast<size_t>(V)];
};

// Can packs be read at the address?
inline bool packable(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kPackBytes == 0;
}

#if defined(__CUDACC__)

// The hardware's conversions, where they have one.
template <class T>
__device__ inline kernels::Wide<T> wide_of(T v) {
  return kernels::widen(v);
}
template <>
__device__ inline float wide_of(kernels::Half v) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.bits));
  return f;
}

template <class T>
__device__ inline T narrow_of(kernels::Wide<T> v) {
  return v;
}
template <>
__device__ inline kernels::Half narrow_of(float v) {
  kernels::Half h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(v));
  return h;
}
template <>
__device__ inline kernels::Bfloat16 narrow_of(float v) {
#if __CUDA_ARCH__ >= 900
  kernels::Bfloat16 b;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b.bits) : "f"(v));
  return b;
#else
  return kernels::to_bfloat16(v);
#endif
}

template <int V, class T>
__device__ inline Pack<T, V> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, V>*>(from);
}

// V elements, widened.
template <int V, class T>
__device__ inline void load_wide(const T* from, kernels::Wide<T> (&to)[V]) {
  const Pack<T, V> pack = load_pack<V>(from);
#pragma unroll
  for (int i = 0; i < V; ++i)
    to[i] = wide_of(pack.e[i]);
}

template <int V, class T>
__device__ inline void store_wide(T* to, const kernels::Wide<T> (&from)[V]) {
  Pack<T, V> pack;
#pragma unroll
  for (int i = 0; i < V; ++i)
    pack.e[i] = narrow_of<T>(from[i]);
  *reinterpret_cast<Pack<T, V>*>(to) = pack;
}

#endif

} // namespace musa_standin::engine::cuda
