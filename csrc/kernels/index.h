// SPDX-License-Identifier: Apache-2.0
// Elements picked by index tensors: muDNN has classes for one index only.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

constexpr int kFlIndices = 2; // that one launch looks at

// A loop over all picks. `dense` is what the loop walks (the result of a get,
// the source of a put), `picked` the tensor that indices point into. Of
// strides[][d], 0 is dense's, 1 is picked's without the indexed dimensions, the
// rest the indices'. Strides and steps are in units.
struct FlPicks {
  const char* name; // of the operator, for errors; lives as long as the process
  void* dense;      // null: every source is `number`
  void* picked;
  const int64_t* index[kFlIndices];
  int64_t extent[kFlIndices]; // an index is below; negative ones count back
  int64_t step[kFlIndices];   // of picked, an index
  int32_t count;              // index tensors: 1 or 2
  int32_t from_end;           // whether negative indices are allowed
  int32_t unit_bytes;         // what is copied at once: 1, 2, 4, 8 or 16
  int32_t rank;
  int64_t numel;
  int64_t dims[kFlMaxRank]; // innermost first
  int64_t strides[2 + kFlIndices][kFlMaxRank];
  uint64_t number[2];
};
// dense[i] = picked[index[i]]. An index out of range is the device's error at
// the next synchronising call, and leaves its element unwritten; here and
// below.
FL_KERNEL_API musaError_t fl_index_get(const FlPicks* v, musaStream_t stream);
// picked[index[i]] = dense[i]; of equal indices any one wins.
FL_KERNEL_API musaError_t fl_index_put(const FlPicks* v, musaStream_t stream);

// Where picks lie: out[i] = sum of index * step, dense, as INT32 or INT64. With
// `more`, that is added to what out holds. dense and picked are not looked at,
// strides[0] are out's (dense).
FL_KERNEL_API musaError_t fl_index_places(
    FlKernelType type,
    void* out,
    int32_t more,
    const FlPicks* v,
    musaStream_t stream);

// The places of elements that are counted row by row: in units of `strides`.
struct FlUnravel {
  const char* name;
  const int64_t* index;
  void* out;
  int64_t n;
  int64_t extent; // elements of the tensor
  int32_t rank;
  int64_t dims[kFlMaxRank]; // innermost first
  int64_t strides[kFlMaxRank];
};
FL_KERNEL_API musaError_t
fl_index_unravel(FlKernelType type, const FlUnravel* v, musaStream_t stream);

// Rows put where sorted keys say, of equal keys the last: element c of the
// source's row order[p] goes to target[keys[p] + c].
struct FlSortedRows {
  const void* keys; // INT64, or INT32
  const int64_t* order;
  int64_t n;
  void* target;
  const void* source; // null: every element is `number`
  int64_t row_stride; // of source
  int64_t columns;
  int32_t keys_wide;
  int32_t unit_bytes;
  int32_t rank; // of a row: 0 is dense
  int64_t dims[kFlMaxRank];
  int64_t strides[2][kFlMaxRank]; // target's, source's
  uint64_t number[2];
};
FL_KERNEL_API musaError_t
fl_index_put_last(const char* name, const FlSortedRows* v, musaStream_t stream);

// target[i] = source[rank[i] - 1] where mask[i]; rank counts the mask's
// elements up to i. Operands of v: target, mask (BOOL), rank (INT64).
FL_KERNEL_API musaError_t fl_masked_scatter(
    const FlOperands* v,
    int32_t unit_bytes,
    const void* source,
    int64_t source_numel,
    musaStream_t stream);
