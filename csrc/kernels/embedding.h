// SPDX-License-Identifier: Apache-2.0
// Rows of a table, renormed, or joined into bags: muDNN has no class for them.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

// Rows of target that sorted keys (element offsets of their beginnings) name,
// each once: those of a larger norm are scaled down to max_norm. scale: n
// numbers of FLOAT or, for DOUBLE, DOUBLE, as workspace.
struct FlRenorm {
  const void* keys;
  void* target;
  void* scale;
  int64_t n;
  int64_t columns;
  int64_t stride; // of an element of a row
  double max_norm;
  double norm_type;
  int32_t keys_wide;
};
FL_KERNEL_API musaError_t
fl_embedding_renorm(FlKernelType type, const FlRenorm* v, musaStream_t stream);

enum FlBagMode : int32_t { kFlBagSum, kFlBagMean, kFlBagMax };

// Bag b holds samples offsets[b] up to offsets[b + 1], or all that follow.
// Rows of `table` are `row_stride` apart and dense. Outputs: [bags, columns],
// the bag of each sample, how many samples count (not of padding), and for MAX
// the row of each maximum, -1 for an empty bag.
struct FlBags {
  const void* table;
  const int64_t* index;
  const int64_t* offsets;
  const void* weight; // of each sample, of the table's type; may be null
  void* out;
  int64_t* bag_of;
  int64_t* size;
  int64_t* rows; // null unless MAX
  int64_t table_rows;
  int64_t row_stride;
  int64_t columns;
  int64_t samples;
  int64_t bags;
  int64_t offset_count;
  int64_t padding; // that row is left out; -1: none
  FlBagMode mode;
};
FL_KERNEL_API musaError_t
fl_bags(FlKernelType type, const FlBags* v, musaStream_t stream);

// Keys of maxima: rows[b][c] * columns + c, and `none` for a row of -1.
FL_KERNEL_API musaError_t fl_bag_keys(
    int64_t* keys,
    const int64_t* rows,
    int64_t bags,
    int64_t columns,
    int64_t none,
    musaStream_t stream);

// out[s] = grad[bag_of[s]] . table[index[s]], 0 for padding. Rows are dense.
struct FlBagWeights {
  const void* grad;
  const void* table;
  const int64_t* index;
  const int64_t* bag_of;
  void* out;
  int64_t table_rows;
  int64_t table_stride;
  int64_t columns;
  int64_t samples;
  int64_t padding;
};
FL_KERNEL_API musaError_t fl_bag_weights_backward(
    FlKernelType type,
    const FlBagWeights* v,
    musaStream_t stream);
