// SPDX-License-Identifier: Apache-2.0
// Vectors of the instruction set and sums in their lanes; for files that are
// compiled per instruction set, hence the unnamed namespace.
#pragma once

#include "toolkit/engine/cpu/floating.h"

#include <cstddef>
#include <cstdint>

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

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
  using Type __attribute__((vector_size(kVectorBytes))) = T;
  // The same at any address.
  using Loose __attribute__((
      vector_size(kVectorBytes),
      aligned(sizeof(T)),
      may_alias)) = T;
};
template <class T>
using Vector = typename VectorOf<T>::Type;

template <class T>
constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(T));

// kLanes elements, widened.
template <class T>
inline Vector<kernels::Wide<T>> load_lanes(const T* from) {
  using W = kernels::Wide<T>;
  if constexpr (sizeof(T) == sizeof(W)) {
    return *reinterpret_cast<const typename VectorOf<W>::Loose*>(from);
  } else {
    alignas(kVectorBytes) W wide[kLanes<W>];
#pragma omp simd
    for (int64_t i = 0; i < kLanes<W>; ++i)
      wide[i] = kernels::widen(from[i]);
    return *reinterpret_cast<const typename VectorOf<W>::Loose*>(wide);
  }
}

#if defined(__F16C__)
inline Vector<float> load_lanes(const kernels::Half* from) {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#else
  return _mm256_cvtph_ps(
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#endif
}
#endif

// kLanes elements, rounded to nearest.
template <class T>
inline void store_lanes(T* to, Vector<kernels::Wide<T>> v) {
  using W = kernels::Wide<T>;
  if constexpr (sizeof(T) == sizeof(W)) {
    *reinterpret_cast<typename VectorOf<W>::Loose*>(to) = v;
  } else {
    alignas(kVectorBytes) W wide[kLanes<W>];
    *reinterpret_cast<typename VectorOf<W>::Loose*>(wide) = v;
#pragma omp simd
    for (int64_t i = 0; i < kLanes<W>; ++i)
      to[i] = kernels::narrow<T>(wide[i]);
  }
}

#if defined(__F16C__)
inline void store_lanes(kernels::Half* to, Vector<float> v) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(
      reinterpret_cast<__m256i*>(to),
      _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#else
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(to),
      _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#endif
}
#endif

// Terms sums of single precision, up to the next take(), which a caller makes
// at least every kRun elements and adds up in double.
template <class W, size_t Terms>
class LaneSums {
 public:
  static constexpr int64_t kRun = 4096;

  // several(i, v): v[s] are the terms of elements i to i + kLanes - 1;
  // one(i, w): w[s] those of element i.
  template <class Several, class One>
  void add(int64_t n, Several&& several, One&& one) {
    constexpr auto kUnroll = static_cast<int64_t>(kParts);
    int64_t i = 0;
    for (; i + kUnroll * kLanes<W> <= n; i += kUnroll * kLanes<W>) {
#pragma GCC unroll 4
      for (size_t part = 0; part < kParts; ++part) {
        Vector<W> v[Terms];
        several(i + static_cast<int64_t>(part) * kLanes<W>, v);
        for (size_t s = 0; s < Terms; ++s)
          parts_[s][part] += v[s];
      }
    }
    for (; i + kLanes<W> <= n; i += kLanes<W>) {
      Vector<W> v[Terms];
      several(i, v);
      for (size_t s = 0; s < Terms; ++s)
        parts_[s][0] += v[s];
    }
    for (; i < n; ++i) {
      W w[Terms];
      one(i, w);
      for (size_t s = 0; s < Terms; ++s)
        rest_[s] += w[s];
    }
    elements_ += n;
  }

  [[nodiscard]] bool full() const { return elements_ >= kRun; }

  // Adds the sums to total and starts again.
  void take(double total[Terms]) {
    for (size_t s = 0; s < Terms; ++s) {
      const Vector<W> v =
          (parts_[s][0] + parts_[s][1]) + (parts_[s][2] + parts_[s][3]);
      W sum = rest_[s];
      for (int64_t i = 0; i < kLanes<W>; ++i)
        sum += v[i];
      total[s] += static_cast<double>(sum);
      rest_[s] = 0;
      for (size_t part = 0; part < kParts; ++part)
        parts_[s][part] = Vector<W>{};
    }
    elements_ = 0;
  }

 private:
  static constexpr size_t kParts = 4; // chains of additions at a time
  Vector<W> parts_[Terms][kParts] = {};
  W rest_[Terms] = {};
  int64_t elements_ = 0;
};

} // namespace
} // namespace musa_standin::engine::cpu
