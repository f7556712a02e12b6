// SPDX-License-Identifier: Apache-2.0
// Distances between rows by a p-norm, and their gradients. Dense operands of
// FLOAT or DOUBLE: musaErrorInvalidValue for another type.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

// left: [batch, rows, columns], right: [batch, others, columns], distance and
// grad: [batch, rows, others].
struct FlDistances {
  void* distance;
  const void* left;
  const void* right;
  const void* grad; // backward only
  void* out;        // backward only: of left's sizes
  int64_t batch;
  int64_t rows;
  int64_t others;
  int64_t columns;
  double p;
};
FL_KERNEL_API musaError_t
fl_distances(FlKernelType type, const FlDistances* v, musaStream_t stream);
FL_KERNEL_API musaError_t fl_distances_backward(
    FlKernelType type,
    const FlDistances* v,
    musaStream_t stream);

// Between the rows of left alone, i before j, row by row: rows * (rows - 1) / 2
// distances and grads. right, batch and others are not looked at.
FL_KERNEL_API musaError_t
fl_own_distances(FlKernelType type, const FlDistances* v, musaStream_t stream);
FL_KERNEL_API musaError_t fl_own_distances_backward(
    FlKernelType type,
    const FlDistances* v,
    musaStream_t stream);
