// SPDX-License-Identifier: Apache-2.0
// Groups of equal elements in a row, and an order of whole rows. All operands
// are dense; musaErrorInvalidValue for a type that is not named.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

// out[i] = 1 if row order[i] of `columns` elements differs from the one before
// it (as row 0 does), else 0; INT64. order null: the rows as they are. NaN
// differs from itself.
FL_KERNEL_API musaError_t fl_group_starts(
    FlKernelType type,
    void* out,
    const void* data,
    const int64_t* order,
    int64_t n,
    int64_t columns,
    musaStream_t stream);

// From the running sums of these flags, `ids`: starts[g] = the first i of group
// g, inverse[order[i]] = the group of i. Either may be null.
struct FlGroups {
  const int64_t* ids;
  const int64_t* order; // null: the elements as they are
  int64_t* starts;
  int64_t* inverse;
  int64_t n;
};
FL_KERNEL_API musaError_t fl_groups(const FlGroups* v, musaStream_t stream);

// out[g] = how many of n elements belong to group g.
FL_KERNEL_API musaError_t fl_group_counts(
    int64_t* out,
    const int64_t* starts,
    int64_t groups,
    int64_t n,
    musaStream_t stream);

// One level of a merge sort of rows, by their first element that differs: `in`
// holds numbers of rows, in order within each `width`; out has them in order
// within each 2 * width. Equal rows keep their order. in null: 0, 1, 2, ...
struct FlRowMerge {
  int64_t* out;
  const int64_t* in;
  const void* data;
  int64_t n;
  int64_t columns;
  int64_t width;
};
FL_KERNEL_API musaError_t
fl_row_merge(FlKernelType type, const FlRowMerge* v, musaStream_t stream);
