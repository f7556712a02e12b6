// SPDX-License-Identifier: Apache-2.0
// Sums and other folds of the rows that have one key, with the same result at
// every run: keys are sorted, no atomics.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

enum FlFold : int32_t { kFlSum, kFlProduct, kFlMaximum, kFlMinimum };

// Row p is source row row_of[order[p]] (or order[p]), times alpha and weight.
// The rows of one key are folded into the target's row at key * key_stride;
// floats of 16 bits are folded as FLOAT, BOOL sums are ors.
struct FlSegments {
  const char* name; // lives as long as the process
  const void* keys; // n, sorted, INT64 or INT32
  const int64_t* order;
  const int64_t* row_of;  // may be null
  const void* weight;     // one of source's type for each order[p]; may be null
  const int64_t* divisor; // the rows of row_of are divided by; may be null
  int64_t n;
  void* target;
  const void* source;
  void* scratch; // fl_segments_scratch bytes
  int64_t key_stride;
  int64_t row_stride;
  int64_t columns;
  int64_t skipped; // rows of this key are left out; -1: none
  double alpha;
  int64_t whole_alpha; // for integers
  FlFold fold;
  int32_t keys_wide;
  int32_t keep; // the target's row takes part
  int32_t mean; // the result is divided by the number of rows (and the target)
  int32_t rank; // of a row: 0 is dense
  int64_t dims[kFlMaxRank];       // innermost first
  int64_t strides[2][kFlMaxRank]; // target's, source's
};
FL_KERNEL_API int64_t
fl_segments_scratch(FlKernelType type, int64_t n, int64_t columns);
FL_KERNEL_API musaError_t
fl_segments(FlKernelType type, const FlSegments* v, musaStream_t stream);
