// SPDX-License-Identifier: Apache-2.0
// Division, remainder, power and extremes with torch's meaning, per type.
#pragma once

#include "toolkit/kernels/math.h"

#include <cstdint>

namespace musa_standin::kernels {
namespace {

// Integers wrap around; signed overflow is not defined in C++.
MUSA_KERNEL_FN int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(
      static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
MUSA_KERNEL_FN int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(
      static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
MUSA_KERNEL_FN int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(
      static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
MUSA_KERNEL_FN float plus(float a, float b) {
  return a + b;
}
MUSA_KERNEL_FN float minus(float a, float b) {
  return a - b;
}
MUSA_KERNEL_FN float times(float a, float b) {
  return a * b;
}
MUSA_KERNEL_FN double plus(double a, double b) {
  return a + b;
}
MUSA_KERNEL_FN double minus(double a, double b) {
  return a - b;
}
MUSA_KERNEL_FN double times(double a, double b) {
  return a * b;
}

// Is near_mod not to be used? Zero and infinities it can take.
MUSA_KERNEL_FN bool far_quotient(float a, float b) {
  const float q = absolute(a / b);
  return (q >= kNearQuotient) & (q < kInfinity);
}

// A division by zero gives 0: devices do not trap.
MUSA_KERNEL_FN int64_t truncated_div(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  return b == -1 ? minus(0, a) : a / b;
}
MUSA_KERNEL_FN int64_t truncated_mod(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
MUSA_KERNEL_FN int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = truncated_div(a, b);
  return truncated_mod(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
MUSA_KERNEL_FN int64_t floor_mod(int64_t a, int64_t b) {
  const int64_t m = truncated_mod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
MUSA_KERNEL_FN int64_t divide(int64_t a, int64_t b) {
  return truncated_div(a, b);
}

template <class T>
MUSA_KERNEL_FN T divide(T a, T b) {
  return a / b;
}
template <class T>
MUSA_KERNEL_FN T truncated_div(T a, T b) {
  return trunc_of(a / b);
}
template <class T>
MUSA_KERNEL_FN T truncated_mod(T a, T b) {
  return mod_of(a, b);
}
// Python's: the remainder m comes off before the division, which is then
// exact up to rounding.
template <class T>
MUSA_KERNEL_FN T floor_div_from(T a, T b, T m) {
  const bool wraps = (m != T(0)) & ((b < T(0)) != (m < T(0)));
  T q = (a - m) / b;
  q = wraps ? q - T(1) : q;
  T f = floor_of(q);
  f = q - f > T(0.5) ? f + T(1) : f;
  const T zero = T(0) * (a / b); // with the quotient's sign
  const T y = q == T(0) ? zero : f;
  return b == T(0) ? a / b : y;
}
template <class T>
MUSA_KERNEL_FN T floor_mod_from(T b, T m) {
  const bool wraps = (m != T(0)) & ((b < T(0)) != (m < T(0)));
  return wraps ? m + b : m;
}
template <class T>
MUSA_KERNEL_FN T floor_div(T a, T b) {
  return floor_div_from(a, b, mod_of(a, b));
}
template <class T>
MUSA_KERNEL_FN T floor_mod(T a, T b) {
  return floor_mod_from(b, mod_of(a, b));
}

MUSA_KERNEL_FN int64_t power(int64_t a, int64_t b) {
  if (b < 0) {
    if (a == 1)
      return 1;
    return a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0;
  }
  int64_t r = 1;
  for (; b != 0; b >>= 1) {
    if ((b & 1) != 0)
      r = times(r, a);
    a = times(a, a);
  }
  return r;
}
template <class T>
MUSA_KERNEL_FN T power(T a, T b) {
  return pow_of(a, b);
}

// A NaN on either side wins.
template <class T>
MUSA_KERNEL_FN T larger(T a, T b) {
  return choose((a > b) | is_nan(a), a, b);
}
template <class T>
MUSA_KERNEL_FN T smaller(T a, T b) {
  return choose((a < b) | is_nan(a), a, b);
}

// A NaN stays; of crossed bounds the upper one wins.
template <class T>
MUSA_KERNEL_FN T clip(T x, T low, T high) {
  const T y = x < low ? low : x;
  return y > high ? high : y;
}

// x tanh(ln(1 + e^x)) without the logarithm.
template <class T>
MUSA_KERNEL_FN T mish(T x) {
  const T e = exp(x > T(20) ? T(20) : x);
  const T n = e * (e + T(2));
  return x > T(20) ? x : x * (n / (n + T(2)));
}

// The argument of tanh in the tanh form of GELU.
template <class T>
MUSA_KERNEL_FN T gelu_inner(T x) {
  return T(0.79788456080286536) * (x + T(0.044715) * x * x * x);
}

template <class T>
MUSA_KERNEL_FN T silu_slope(T x) {
  const T s = sigmoid(x);
  return s * (T(1) + x * (T(1) - s));
}
template <class T>
MUSA_KERNEL_FN T gelu_slope(T x) {
  const T cdf = T(0.5) * (T(1) + erf(x * T(0.70710678118654752)));
  const T pdf = exp(T(-0.5) * x * x) * T(0.3989422804014327);
  return cdf + x * pdf;
}
template <class T>
MUSA_KERNEL_FN T gelu_tanh_slope(T x) {
  const T t = tanh(gelu_inner(x));
  const T inner = T(0.79788456080286536) * (T(1) + T(0.134145) * x * x);
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner;
}

} // namespace
} // namespace musa_standin::kernels
