// SPDX-License-Identifier: Apache-2.0
// Complex numbers: muDNN has no such type. Elements are pairs of float, or of
// double where `is_double` is 1.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

enum FlComplex : int32_t {
  kFlComplexAdd, // left + alpha * right
  kFlComplexSub,
  kFlComplexMul,
  kFlComplexDiv,
  kFlComplexConj, // of one operand, as the next three
  kFlComplexNeg,
  kFlComplexReciprocal,
  kFlComplexSgn,
  kFlComplexCount,
};
struct FlComplexCall {
  double alpha[2];
  FlComplex op;
  int32_t is_double;
};
// Operands are complex.
FL_KERNEL_API musaError_t fl_complex(
    const FlComplexCall* call,
    const FlOperands* operands,
    musaStream_t stream);

enum FlComplexTo : int32_t {
  kFlComplexAbs, // real from complex
  kFlComplexAngle,
  kFlComplexEqual, // BOOL from two complex
  kFlComplexNotEqual,
  kFlComplexPolar, // complex from two real: length and angle
};
FL_KERNEL_API musaError_t fl_complex_to(
    FlComplexTo op,
    int32_t is_double,
    const FlOperands* operands,
    musaStream_t stream);
