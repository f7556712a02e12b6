// SPDX-License-Identifier: Apache-2.0
// Sequences: muDNN has no class for them.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

// out[i] = start + i * step for i below half of n, and end - (n - 1 - i) * step
// above, so that both ends are exact (as torch's linspace); with `powers`, base
// to that power. Integers are truncated towards zero. out: n elements of
// `type`, dense. Not for BOOL: musaErrorInvalidValue.
struct FlSpace {
  double start;
  double end;
  double step;
  double base;
  int64_t n;
  int32_t powers;
};
FL_KERNEL_API musaError_t fl_space(
    FlKernelType type,
    void* out,
    const FlSpace* space,
    musaStream_t stream);

// Row and column numbers of the elements on and below (lower) or above the
// diagonal, row by row: out is 2 x count of INT32 or INT64, dense.
struct FlTriangle {
  int64_t rows;
  int64_t columns;
  int64_t diagonal;
  int64_t count;
  int32_t lower;
};
FL_KERNEL_API musaError_t fl_triangle(
    FlKernelType type,
    void* out,
    const FlTriangle* triangle,
    musaStream_t stream);
