// SPDX-License-Identifier: Apache-2.0
// The C library's functions, overloaded by type: compilers differ in which
// names they overload on a device.
#pragma once

#include <math.h> // mcc and nvcc know its functions on the device

#include <cstdint>
#include <type_traits>

namespace torch_fl::kernels {

#define FL_LIBM1(name)                               \
  __host__ __device__ inline float name(float x) {   \
    return ::name##f(x);                             \
  }                                                  \
  __host__ __device__ inline double name(double x) { \
    return ::name(x);                                \
  }
#define FL_LIBM2(name)                                         \
  __host__ __device__ inline float name(float x, float y) {    \
    return ::name##f(x, y);                                    \
  }                                                            \
  __host__ __device__ inline double name(double x, double y) { \
    return ::name(x, y);                                       \
  }

FL_LIBM1(acosh)
FL_LIBM1(asin)
FL_LIBM1(asinh)
FL_LIBM1(atanh)
FL_LIBM1(cos)
FL_LIBM1(cosh)
FL_LIBM1(erf)
FL_LIBM1(erfc)
FL_LIBM1(exp)
FL_LIBM1(exp2)
FL_LIBM1(expm1)
FL_LIBM1(fabs)
FL_LIBM1(floor)
FL_LIBM1(log)
FL_LIBM1(log1p)
FL_LIBM1(nearbyint)
FL_LIBM1(sin)
FL_LIBM1(sinh)
FL_LIBM1(sqrt)
FL_LIBM1(tan)
FL_LIBM1(tanh)
FL_LIBM1(trunc)
FL_LIBM2(atan2)
FL_LIBM2(copysign)
FL_LIBM2(fmod)
FL_LIBM2(hypot)
FL_LIBM2(nextafter)
FL_LIBM2(pow)

#undef FL_LIBM1
#undef FL_LIBM2

__host__ __device__ inline float fma(float x, float y, float z) {
  return ::fmaf(x, y, z);
}
__host__ __device__ inline double fma(double x, double y, double z) {
  return ::fma(x, y, z);
}

// The C library's own writes a global variable.
__host__ __device__ inline float lgamma(float x) {
#if defined(MUSA_PORTABLE_HOST)
  int sign = 0;
  return ::lgammaf_r(x, &sign);
#else
  return ::lgammaf(x);
#endif
}
__host__ __device__ inline double lgamma(double x) {
#if defined(MUSA_PORTABLE_HOST)
  int sign = 0;
  return ::lgamma_r(x, &sign);
#else
  return ::lgamma(x);
#endif
}

template <class C>
struct Constant {
  static constexpr C kPi = C(3.14159265358979323846);
  static constexpr C kInfinity = C(__builtin_huge_val());
};
template <class C>
__host__ __device__ bool is_nan(C x) {
  return x != x;
}
// The machine's precision.
__host__ __device__ constexpr float precision(float) {
  return 5.9604645e-08F;
}
__host__ __device__ constexpr double precision(double) {
  return 1.1102230246251565e-16;
}

// torch's two formulas, so that both ends are exact.
template <class C>
__host__ __device__ C lerp(C x, C y, C weight) {
  return fabs(weight) < C(0.5) ? x + weight * (y - x)
                               : y - (y - x) * (C(1) - weight);
}

// Of integers, wrapping; a negative exponent leaves 1 and -1 only.
template <class C>
__host__ __device__ C power(C base, C exponent) {
  if constexpr (std::is_signed_v<C>) {
    if (exponent < C(0)) {
      return base == C(1) ? C(1)
          : base == C(-1) ? (exponent % 2 == 0 ? C(1) : base)
                          : C(0);
    }
  }
  uint64_t result = 1;
  auto square = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
    result *= (left & 1) != 0 ? square : 1;
    square *= square;
  }
  return static_cast<C>(result);
}

} // namespace torch_fl::kernels
