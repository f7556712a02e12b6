// SPDX-License-Identifier: Apache-2.0
// Table of the reduction loops, one per instruction set.
#pragma once

#include "toolkit/engine/cpu/elementwise_kernels.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

enum class Fold : uint8_t {
  kSum,
  kSumAbs,
  kSumSquare,
  kSumPower,
  kProduct,
  kProductNonzero,
  kMax,
  kMin,
  kAnd,
  kOr,
  kCount,
};

// A partial result: real for floating types, whole for integers.
union Cell {
  double real;
  int64_t whole;
};

// Lanes of a horizontal fold, and rows that may be summed in float before the
// sums go to double.
constexpr int64_t kFoldLanes = 64;
constexpr int64_t kFoldRows = 64;

// x: dense elements of the compute type (float, double, int64_t).
struct FoldKernels {
  // What a fold starts from, as the compute type wants it.
  double start_real;
  int64_t start_whole;
  // All n ≤ kFoldLanes * kFoldRows of them.
  Cell (*block)(const void* x, int64_t n, double order);
  // Column sums of at most kFoldRows rows, joined to total. n ≤ 256.
  void (*rows)(
      Cell* total,
      const void* x,
      int64_t n,
      int64_t row_step,
      int64_t rows,
      double order);
  Cell (*join)(Cell a, Cell b);
};

struct MomentKernels {
  // Mean and sum of squared deviations.
  void (*block)(const void* x, int64_t n, double* mean, double* deviation);
  // One more row; count is the number of rows with it.
  void (*row)(
      double* mean,
      double* deviation,
      const void* x,
      int64_t n,
      int64_t count);
};

struct ArgKernels {
  // First position of the value, or of a NaN if the value is one.
  int64_t (*find)(const void* x, int64_t n, Cell value);
  // Is a better than b? A NaN beats all but a NaN.
  bool (*better)(Cell a, Cell b);
  // One more row, at this position.
  void (*row)(
      Cell* best,
      int64_t* at,
      const void* x,
      int64_t n,
      int64_t position);
};

struct ReduceKernels {
  FoldKernels fold[kU8][static_cast<int>(Fold::kCount)];
  MomentKernels moments[kI64];
  ArgKernels largest[kU8];
  ArgKernels smallest[kU8];
};

MUSA_ISA_DECLARE(ReduceKernels, kReduceKernels);

} // namespace musa_standin::engine::cpu
