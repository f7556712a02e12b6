// SPDX-License-Identifier: Apache-2.0
// Floating elements in the type that sums are made in, and rounding to TF32.
#pragma once

#include "toolkit/kernels/scalar_types.h"

#include <cstdint>

namespace musa_standin::kernels {
namespace {

template <class T>
struct WideOf {
  using Type = float;
};
template <>
struct WideOf<double> {
  using Type = double;
};
template <class T>
using Wide = typename WideOf<T>::Type;

MUSA_KERNEL_FN float widen(float v) {
  return v;
}
MUSA_KERNEL_FN double widen(double v) {
  return v;
}
MUSA_KERNEL_FN float widen(Half v) {
  return to_float(v);
}
MUSA_KERNEL_FN float widen(Bfloat16 v) {
  return to_float(v);
}

template <class T>
MUSA_KERNEL_FN T narrow(Wide<T> v) {
  return v;
}
template <>
MUSA_KERNEL_FN Half narrow<Half>(float v) {
  return to_half(v);
}
template <>
MUSA_KERNEL_FN Bfloat16 narrow<Bfloat16>(float v) {
  return to_bfloat16(v);
}

// Nearest float with 10 mantissa bits, ties away from zero; infinities and NaN
// stay.
MUSA_KERNEL_FN float round_tf32(float v) {
  const uint32_t b = bits_as<uint32_t>(v);
  const bool finite = (b & 0x7F800000U) != 0x7F800000U;
  return bits_as<float>(finite ? (b + 0x1000U) & 0xFFFFE000U : b);
}

} // namespace
} // namespace musa_standin::kernels
