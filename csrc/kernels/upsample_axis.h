// SPDX-License-Identifier: Apache-2.0
// Where one dimension of a resized image reads the input, and with what weight.
#pragma once

#include "csrc/kernels/upsample.h"

#include <math.h> // mcc and nvcc know its functions on the device

namespace torch_fl::kernels {

__host__ __device__ inline float floor_of(float x) {
  return floorf(x);
}
__host__ __device__ inline double floor_of(double x) {
  return floor(x);
}

__host__ __device__ inline int32_t clamp_to(int64_t at, int32_t size) {
  return static_cast<int32_t>(at < 0 ? 0 : at < size ? at : size - 1);
}

// C: what positions are computed in. Source positions as upstream has them.
template <class C>
struct SampleAxis {
  int32_t in;
  int32_t out;
  C scale;
  bool align_corners;

  __host__ __device__ bool same() const { return in == out; }

  __host__ __device__ C source(int32_t at, bool cubic) const {
    if (align_corners) {
      return scale * static_cast<C>(at);
    }
    const C x = scale * (static_cast<C>(at) + C(0.5)) - C(0.5);
    return !cubic && x < C(0) ? C(0) : x;
  }

  // Outputs [first, last), and no others, may read inputs within `reach` of
  // `at`. Two on each side keep rounding out of it; all that lies beyond the
  // borders reads them.
  __host__ __device__ void
  readers(int32_t at, int32_t reach, int32_t& first, int32_t& last) const {
    first = 0;
    last = out;
    if (!(scale > C(0))) {
      return;
    }
    const C inverse = C(1) / scale;
    if (at > 0) {
      const C low = floor_of(static_cast<C>(at - reach) * inverse) - C(2);
      first = low > C(0) ? static_cast<int32_t>(low) : 0;
      first = first < out ? first : out;
    }
    if (at < in - 1) {
      const C high = floor_of(static_cast<C>(at + reach + 1) * inverse) + C(3);
      last = high < static_cast<C>(out) ? static_cast<int32_t>(high) : out;
    }
  }
};

// K taps of an output: the inputs from `first` on, those outside taken at the
// border.
template <class C, int K>
struct Taps {
  int64_t first;
  C weights[K];
};

template <class C>
struct Linear {
  static constexpr int kTaps = 2;
  static constexpr int kReach = 1;

  __host__ __device__ static Taps<C, 2> at(
      const SampleAxis<C>& axis,
      int32_t out) {
    if (axis.same()) {
      return {out, {C(1), C(0)}};
    }
    const C x = axis.source(out, false);
    auto first = static_cast<int64_t>(floor_of(x));
    first = first < axis.in ? first : axis.in - 1;
    C part = x - static_cast<C>(first);
    part = part < C(0) ? C(0) : part > C(1) ? C(1) : part;
    return {first, {C(1) - part, part}};
  }
};

template <class C>
struct Cubic {
  static constexpr int kTaps = 4;
  static constexpr int kReach = 2;

  __host__ __device__ static C inner(C x) {
    return (C(1.25) * x - C(2.25)) * x * x + C(1);
  }
  __host__ __device__ static C outer(C x) {
    return ((C(-0.75) * x + C(3.75)) * x - C(6)) * x + C(3);
  }
  __host__ __device__ static Taps<C, 4> at(
      const SampleAxis<C>& axis,
      int32_t out) {
    const C x = axis.source(out, true);
    const C whole = floor_of(x);
    const C part = x - whole;
    const C rest = C(1) - part;
    return {
        static_cast<int64_t>(whole) - 1,
        {outer(part + C(1)), inner(part), inner(rest), outer(rest + C(1))}};
  }
};

// A filter over one dimension, wider where the image shrinks.
template <class C>
struct FilterAxis {
  FlFilterKind kind;
  int32_t in;
  int32_t out;
  C scale;
  C support;

  static FilterAxis of(const FlFilter& filter, int64_t in, int64_t out) {
    const C reach = filter.kind == kFlTriangle ? C(1)
        : filter.kind == kFlCubicFilter        ? C(2)
                                               : C(3);
    const auto scale = static_cast<C>(filter.scale);
    return {
        filter.kind,
        static_cast<int32_t>(in),
        static_cast<int32_t>(out),
        scale,
        scale >= C(1) ? reach * scale : reach};
  }

  __host__ __device__ C center(int32_t at) const {
    return scale * (static_cast<C>(at) + C(0.5));
  }
  __host__ __device__ void window(C center, int32_t& first, int32_t& last)
      const {
    const auto low = static_cast<int64_t>(center - support + C(0.5));
    const auto high = static_cast<int64_t>(center + support + C(0.5));
    first = static_cast<int32_t>(low > 0 ? low : 0);
    last = static_cast<int32_t>(high < in ? high : in);
  }
  __host__ __device__ C weight(C center, int32_t at) const {
    C x = static_cast<C>(at) - center + C(0.5);
    if (scale >= C(1)) {
      x = x / scale;
    }
    x = x < C(0) ? -x : x;
    switch (kind) {
    case kFlTriangle:
      return x < C(1) ? C(1) - x : C(0);
    case kFlCubicFilter:
      // a = -0.5
      return x < C(1) ? (C(1.5) * x - C(2.5)) * x * x + C(1)
          : x < C(2)  ? ((C(-0.5) * x + C(2.5)) * x - C(4)) * x + C(2)
                      : C(0);
    default:
      return x < C(3) ? sinc(x) * sinc(x / C(3)) : C(0);
    }
  }
  __host__ __device__ void readers(int32_t at, int32_t& first, int32_t& last)
      const {
    first = 0;
    last = out;
    if (!(scale > C(0))) {
      return;
    }
    const C inverse = C(1) / scale;
    const auto x = static_cast<C>(at);
    const C low = floor_of((x - support) * inverse) - C(2);
    const C high = floor_of((x + support + C(1)) * inverse) + C(3);
    first = low > C(0) ? static_cast<int32_t>(low) : 0;
    last = high < static_cast<C>(out) ? static_cast<int32_t>(high) : out;
  }

 private:
  __host__ __device__ static float sine(float x) { return sinf(x); }
  __host__ __device__ static double sine(double x) { return sin(x); }
  __host__ __device__ static C sinc(C x) {
    if (x == C(0)) {
      return C(1);
    }
    const C angle = x * C(3.14159265358979323846);
    return sine(angle) / angle;
  }
};

} // namespace torch_fl::kernels
