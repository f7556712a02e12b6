// SPDX-License-Identifier: Apache-2.0
// One launch for the elements of many tensors of one floating type: HALF,
// BFLOAT16, FLOAT or DOUBLE, else musaErrorInvalidValue.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

// A number for each tensor, or one of `type` on the device for all.
struct FlEach {
  double number[kFlListTensors];
  const void* tensor;
};

// Lists: out, in. n: the number.
enum FlEachOne : int32_t {
  kFlEachAbs,
  kFlEachAddNumber, // in + n
  kFlEachCopy,
  kFlEachDivNumber,
  kFlEachExp,
  kFlEachMaxNumber,
  kFlEachMinNumber,
  kFlEachMulNumber,
  kFlEachNeg,
  kFlEachPowNumber,
  kFlEachReciprocal,
  kFlEachRsqrt,
  kFlEachSign,
  kFlEachSqrt,
  kFlEachSubNumber,
  kFlEachZero,
  kFlEachOneCount,
};
FL_KERNEL_API musaError_t fl_each_one(
    FlEachOne op,
    FlKernelType type,
    const FlTensors* lists,
    const FlEach* each,
    musaStream_t stream);

// Lists: out, left, right.
enum FlEachTwo : int32_t {
  kFlEachAdd, // left + n * right
  kFlEachDiv,
  kFlEachLerpNumber, // from left to right by n
  kFlEachMax,
  kFlEachMin,
  kFlEachMul,
  kFlEachPow,
  kFlEachSub,
  kFlEachTwoCount,
};
FL_KERNEL_API musaError_t fl_each_two(
    FlEachTwo op,
    FlKernelType type,
    const FlTensors* lists,
    const FlEach* each,
    musaStream_t stream);

// Lists: out, first, second, third.
enum FlEachThree : int32_t {
  kFlEachAddcdiv, // first + n * second / third
  kFlEachAddcmul,
  kFlEachLerp, // from first to second by third
  kFlEachThreeCount,
};
FL_KERNEL_API musaError_t fl_each_three(
    FlEachThree op,
    FlKernelType type,
    const FlTensors* lists,
    const FlEach* each,
    musaStream_t stream);

// Norms in three steps, sums in float, or double for DOUBLE. How many parts a
// tensor of that many elements is summed up in:
constexpr int64_t kFlNormParts = 1 << 16;
constexpr int64_t kFlNormPart = 64;
constexpr int64_t kFlNormTail = 256;
inline int64_t fl_norm_parts(int64_t numel) {
  const int64_t parts = (numel + kFlNormPart - 1) / kFlNormPart;
  return parts < kFlNormParts ? parts : kFlNormParts;
}
enum FlNorm : int32_t {
  kFlNormCount, // of elements that are not 0
  kFlNormSum,   // of absolute values
  kFlNormRoot,  // of the sum of squares
  kFlNormMax,   // of absolute values; NaN wins
};
// Lists: in, parts (of the computing type, fl_norm_parts(numel) each).
FL_KERNEL_API musaError_t fl_norm_begin(
    FlNorm norm,
    FlKernelType type,
    const FlTensors* lists,
    musaStream_t stream);
// Lists: parts, tails (kFlNormTail each); numel is the tensors'.
FL_KERNEL_API musaError_t fl_norm_shorten(
    FlNorm norm,
    FlKernelType type,
    const FlTensors* lists,
    musaStream_t stream);
// out: `count` numbers of `type`; tails: count x kFlNormTail.
FL_KERNEL_API musaError_t fl_norm_end(
    FlNorm norm,
    FlKernelType type,
    void* out,
    const void* tails,
    int64_t count,
    musaStream_t stream);
