// SPDX-License-Identifier: Apache-2.0
// Conversions into and out of blocks; compiled once per instruction set.
#include "toolkit/engine/cpu/elementwise_kernels.h"

#include "toolkit/kernels/convert.h"

#if defined(__F16C__)
// gcc 12 sees an uninitialised register in its own header (bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace musa_standin::engine::cpu {
namespace {

using kernels::Bfloat16;
using kernels::Bool;
using kernels::Half;
using kernels::Narrow;
using kernels::Widen;

template <class C, class E>
void load(void* block, const void* from, int64_t n, int64_t stride) {
  C* __restrict to = static_cast<C*>(block);
  const E* __restrict x = static_cast<const E*>(from);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i)
      to[i] = Widen<C, E>::of(x[i]);
  } else if (stride == 0) {
    const C value = Widen<C, E>::of(x[0]);
    for (int64_t i = 0; i < n; ++i)
      to[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i)
      to[i] = Widen<C, E>::of(x[i * stride]);
  }
}

template <class C, class E>
void store(void* to, const void* block, int64_t n, int64_t stride) {
  E* __restrict o = static_cast<E*>(to);
  const C* __restrict x = static_cast<const C*>(block);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i)
      o[i] = Narrow<E, C>::of(x[i]);
  } else {
    for (int64_t i = 0; i < n; ++i)
      o[i * stride] = Narrow<E, C>::of(x[i]);
  }
}

#if defined(__F16C__)
// Eight at a time by the processor's own conversion.
template <>
void load<float, Half>(
    void* block,
    const void* from,
    int64_t n,
    int64_t stride) {
  float* to = static_cast<float*>(block);
  const Half* x = static_cast<const Half*>(from);
  int64_t i = 0;
  if (stride == 1) {
    for (; i + 8 <= n; i += 8)
      _mm256_storeu_ps(
          to + i,
          _mm256_cvtph_ps(
              _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
  for (; i < n; ++i)
    to[i] = kernels::to_float(x[i * stride]);
}

template <>
void store<float, Half>(
    void* to,
    const void* block,
    int64_t n,
    int64_t stride) {
  Half* o = static_cast<Half*>(to);
  const float* x = static_cast<const float*>(block);
  int64_t i = 0;
  if (stride == 1) {
    for (; i + 8 <= n; i += 8)
      _mm_storeu_si128(
          reinterpret_cast<__m128i*>(o + i),
          _mm256_cvtps_ph(
              _mm256_loadu_ps(x + i),
              _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  for (; i < n; ++i)
    o[i * stride] = kernels::to_half(x[i]);
}
#endif

// In the order of Dtype.
template <class C>
constexpr void fill(ConvertKernels& t, Compute c) {
  constexpr LoadFn kLoad[kConvertible] = {
      load<C, float>,
      load<C, Half>,
      load<C, Bfloat16>,
      load<C, double>,
      load<C, int8_t>,
      load<C, int16_t>,
      load<C, int32_t>,
      load<C, int64_t>,
      load<C, uint8_t>,
      load<C, uint16_t>,
      load<C, uint32_t>,
      load<C, uint64_t>,
      load<C, Bool>};
  constexpr StoreFn kStore[kConvertible] = {
      store<C, float>,
      store<C, Half>,
      store<C, Bfloat16>,
      store<C, double>,
      store<C, int8_t>,
      store<C, int16_t>,
      store<C, int32_t>,
      store<C, int64_t>,
      store<C, uint8_t>,
      store<C, uint16_t>,
      store<C, uint32_t>,
      store<C, uint64_t>,
      store<C, Bool>};
  for (int i = 0; i < kConvertible; ++i) {
    t.load[c][i] = kLoad[i];
    t.store[c][i] = kStore[i];
  }
}

template <class E>
void gather(void* block, const void* from, int64_t n, int64_t stride) {
  E* __restrict to = static_cast<E*>(block);
  const E* __restrict x = static_cast<const E*>(from);
  for (int64_t i = 0; i < n; ++i)
    to[i] = x[i * stride];
}

template <class E>
void scatter(void* to, const void* block, int64_t n, int64_t stride) {
  E* __restrict o = static_cast<E*>(to);
  const E* __restrict x = static_cast<const E*>(block);
  for (int64_t i = 0; i < n; ++i)
    o[i * stride] = x[i];
}

template <class E>
constexpr void raw(ConvertKernels& t, int size) {
  t.gather[size] = gather<E>;
  t.scatter[size] = scatter<E>;
}

constexpr ConvertKernels build() {
  ConvertKernels t{};
  fill<float>(t, kF32);
  fill<double>(t, kF64);
  fill<int64_t>(t, kI64);
  fill<uint8_t>(t, kU8);
  raw<uint8_t>(t, 0);
  raw<uint16_t>(t, 1);
  raw<uint32_t>(t, 2);
  raw<uint64_t>(t, 3);
  return t;
}

} // namespace

extern const ConvertKernels MUSA_ISA_TABLE(kConvertKernels);
constexpr ConvertKernels MUSA_ISA_TABLE(kConvertKernels) = build();

} // namespace musa_standin::engine::cpu
