// SPDX-License-Identifier: Apache-2.0
// Float functions on devices: their own library's, as exact as those of math.h
// and built on instructions for powers and logarithms of two.
#pragma once

#include "toolkit/kernels/scalar_types.h"

#if defined(__CUDA_ARCH__)

namespace musa_standin::kernels {
namespace {

MUSA_KERNEL_FN float exp(float x) {
  return ::expf(x);
}
MUSA_KERNEL_FN float expm1(float x) {
  return ::expm1f(x);
}
MUSA_KERNEL_FN float log(float x) {
  return ::logf(x);
}
MUSA_KERNEL_FN float log2(float x) {
  return ::log2f(x);
}
MUSA_KERNEL_FN float log10(float x) {
  return ::log10f(x);
}
MUSA_KERNEL_FN float log1p(float x) {
  return ::log1pf(x);
}
MUSA_KERNEL_FN float tanh(float x) {
  return ::tanhf(x);
}
MUSA_KERNEL_FN float erf(float x) {
  return ::erff(x);
}
MUSA_KERNEL_FN float sin(float x) {
  return ::sinf(x);
}
MUSA_KERNEL_FN float cos(float x) {
  return ::cosf(x);
}
MUSA_KERNEL_FN float tan_of(float x) {
  return ::tanf(x);
}
MUSA_KERNEL_FN float acos_of(float x) {
  return ::acosf(x);
}
MUSA_KERNEL_FN float atan_of(float x) {
  return ::atanf(x);
}

} // namespace
} // namespace musa_standin::kernels

#endif
