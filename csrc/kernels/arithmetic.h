// SPDX-License-Identifier: Apache-2.0
// What elements are summed in, and folds of them.
#pragma once

#include "csrc/kernels/operands.h"
#include "csrc/kernels/scalar.h"
#include "csrc/kernels/segment.h"

#include <limits>

namespace torch_fl::kernels {

// 16-bit floats are summed as float, integers as 64 bits.
template <class T>
struct Accumulated {
  using Type = int64_t;
};
template <>
struct Accumulated<Half> {
  using Type = float;
};
template <>
struct Accumulated<Bfloat16> {
  using Type = float;
};
template <>
struct Accumulated<float> {
  using Type = float;
};
template <>
struct Accumulated<double> {
  using Type = double;
};

template <class A>
A number_of(double value, int64_t /*whole*/) {
  return static_cast<A>(value);
}
template <>
inline int64_t number_of<int64_t>(double /*value*/, int64_t whole) {
  return whole;
}

template <class T, class A>
__host__ __device__ T stored(A value) {
  return static_cast<T>(value); // bool: whether it is not 0
}

template <class A>
__host__ __device__ A divided(A value, A by) {
  return value / by;
}
// Towards minus infinity.
template <>
__host__ __device__ inline int64_t divided<int64_t>(int64_t value, int64_t by) {
  const int64_t quotient = value / by;
  return quotient - (value % by != 0 && (value < 0) != (by < 0) ? 1 : 0);
}

template <class A>
__host__ __device__ A lowest();
template <>
__host__ __device__ inline float lowest<float>() {
  return -float_of(0x7F800000U);
}
template <>
__host__ __device__ inline double lowest<double>() {
  return -static_cast<double>(float_of(0x7F800000U));
}
template <>
__host__ __device__ inline int64_t lowest<int64_t>() {
  return INT64_MIN;
}

template <class A>
__host__ __device__ A identity(FlFold fold) {
  switch (fold) {
  case kFlProduct:
    return static_cast<A>(1);
  case kFlMaximum:
    return lowest<A>();
  case kFlMinimum:
    return -(lowest<A>() + static_cast<A>(1)); // INT64_MAX, or infinity
  default:
    return static_cast<A>(0);
  }
}

// NaN wins.
template <class A>
__host__ __device__ A folded(FlFold fold, A sum, A x) {
  switch (fold) {
  case kFlProduct:
    return sum * x;
  case kFlMaximum:
    return x > sum || x != x ? x : sum;
  case kFlMinimum:
    return x < sum || x != x ? x : sum;
  default:
    return sum + x;
  }
}

// f(T()) with the element type of that name.
template <class F>
musaError_t with_type(FlKernelType type, const F& f) {
  switch (type) {
  case kFlUint8:
    return f(uint8_t());
  case kFlInt8:
    return f(int8_t());
  case kFlInt16:
    return f(int16_t());
  case kFlInt32:
    return f(int32_t());
  case kFlInt64:
    return f(int64_t());
  case kFlBool:
    return f(bool());
  case kFlHalf:
    return f(Half());
  case kFlBfloat16:
    return f(Bfloat16());
  case kFlFloat:
    return f(float());
  case kFlDouble:
    return f(double());
  }
  return musaErrorInvalidValue;
}

} // namespace torch_fl::kernels
