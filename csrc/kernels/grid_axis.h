// SPDX-License-Identifier: Apache-2.0
// Where a grid's coordinate reads one dimension of an image.
#pragma once

#include "csrc/kernels/grid.h"

#include <math.h> // mcc and nvcc know its functions on the device

namespace torch_fl::kernels {

__host__ __device__ inline float whole_below(float x) {
  return floorf(x);
}
__host__ __device__ inline double whole_below(double x) {
  return floor(x);
}
__host__ __device__ inline float rest_of(float x, float y) {
  return fmodf(x, y);
}
__host__ __device__ inline double rest_of(double x, double y) {
  return fmod(x, y);
}

// Pixels of one dimension (-1 for none), their weights, and how these change
// with the coordinate.
template <class C, int K>
struct GridTaps {
  int32_t at[K];
  C weights[K];
  C slopes[K];
};

template <class C>
struct GridAxis {
  int32_t size;
  FlGridPadding padding;
  bool align_corners;

  // From [-1, 1] to pixels; `slope` is the derivative.
  __host__ __device__ C unnormalize(C x, C& slope) const {
    const auto extent = static_cast<C>(size);
    if (align_corners) {
      slope = (extent - C(1)) / C(2);
      return (x + C(1)) / C(2) * (extent - C(1));
    }
    slope = extent / C(2);
    return ((x + C(1)) * extent - C(1)) / C(2);
  }

  // Into the image, as the padding asks for. NaN becomes 0.
  __host__ __device__ C fold(C x, C& slope) const {
    if (padding == kFlGridZeros) {
      return x;
    }
    if (padding == kFlGridReflection) {
      x = reflect(x, slope);
    }
    const auto last = static_cast<C>(size - 1);
    if (!(x > C(0))) {
      slope = C(0);
      return C(0);
    }
    if (x >= last) {
      slope = C(0);
      return last;
    }
    return x;
  }

  // The pixel at a whole coordinate, -1 outside of the image.
  __host__ __device__ int32_t pixel(C x) const {
    return x >= C(0) && x < static_cast<C>(size) ? static_cast<int32_t>(x) : -1;
  }

 private:
  __host__ __device__ C reflect(C x, C& slope) const {
    const C low = align_corners ? C(0) : C(-0.5);
    const C span = static_cast<C>(align_corners ? size - 1 : size);
    if (span == C(0)) {
      slope = C(0);
      return C(0);
    }
    x -= low;
    if (x < C(0)) {
      slope = -slope;
      x = -x;
    }
    const C extra = rest_of(x, span);
    const C flips = whole_below(x / span);
    if (flips - C(2) * whole_below(flips / C(2)) == C(0)) {
      return extra + low;
    }
    slope = -slope;
    return span - extra + low;
  }
};

template <class C>
struct GridLinear {
  static constexpr int kTaps = 2;

  __host__ __device__ static GridTaps<C, 2> at(const GridAxis<C>& axis, C x) {
    C slope = 0;
    x = axis.unnormalize(x, slope);
    x = axis.fold(x, slope);
    const C below = whole_below(x);
    const C part = x - below;
    return {
        {axis.pixel(below), axis.pixel(below + C(1))},
        {C(1) - part, part},
        {-slope, slope}};
  }
};

template <class C>
struct GridNearest {
  static constexpr int kTaps = 1;

  __host__ __device__ static GridTaps<C, 1> at(const GridAxis<C>& axis, C x) {
    C slope = 0;
    x = axis.unnormalize(x, slope);
    x = axis.fold(x, slope);
    // To the nearest, halves to the even one.
    C whole = whole_below(x + C(0.5));
    if (whole - x == C(0.5) &&
        whole - C(2) * whole_below(whole / C(2)) != C(0)) {
      whole -= C(1);
    }
    return {{axis.pixel(whole)}, {C(1)}, {C(0)}};
  }
};

// The padding is applied to each of the four taps.
template <class C>
struct GridCubic {
  static constexpr int kTaps = 4;

  __host__ __device__ static C inner(C x) {
    return (C(1.25) * x - C(2.25)) * x * x + C(1);
  }
  __host__ __device__ static C outer(C x) {
    return ((C(-0.75) * x + C(3.75)) * x - C(6)) * x + C(3);
  }
  __host__ __device__ static C inner_slope(C x) {
    return (C(3.75) * x - C(4.5)) * x;
  }
  __host__ __device__ static C outer_slope(C x) {
    return (C(-2.25) * x + C(7.5)) * x - C(6);
  }
  __host__ __device__ static GridTaps<C, 4> at(const GridAxis<C>& axis, C x) {
    C slope = 0;
    x = axis.unnormalize(x, slope);
    const C below = whole_below(x);
    const C t = x - below;
    const C u = C(1) - t;
    GridTaps<C, 4> taps{
        {},
        {outer(t + C(1)), inner(t), inner(u), outer(u + C(1))},
        {slope * outer_slope(t + C(1)),
         slope * inner_slope(t),
         -slope * inner_slope(u),
         -slope * outer_slope(u + C(1))}};
    for (int k = 0; k < 4; ++k) {
      C unused = 0;
      taps.at[k] = axis.pixel(axis.fold(below + static_cast<C>(k - 1), unused));
    }
    return taps;
  }
};

// A dimension that the image lacks.
template <class C>
struct GridNone {
  static constexpr int kTaps = 1;

  __host__ __device__ static GridTaps<C, 1> at(
      const GridAxis<C>& /*axis*/,
      C /*x*/) {
    return {{0}, {C(1)}, {C(0)}};
  }
};

} // namespace torch_fl::kernels
