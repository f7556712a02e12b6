// SPDX-License-Identifier: Apache-2.0
// Searches in sorted rows, and counts that follow from them. All operands are
// dense; musaErrorInvalidValue for a type that is not named.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

// Where each of n values belongs in a row of `width` boundaries: before equal
// ones, or with `right` behind them. The order of a row is `sorter`'s if that
// is not null. per_row values belong to each row; 0: one row for all.
struct FlSearch {
  const void* boundaries;
  const int64_t* sorter;
  const void* values;
  void* out; // INT64, or INT32 with `narrow`
  int64_t n;
  int64_t width;
  int64_t per_row;
  int32_t right;
  int32_t narrow;
};
FL_KERNEL_API musaError_t
fl_search(FlKernelType type, const FlSearch* v, musaStream_t stream);

// out[i] = whether values[i] is among the m sorted ones, or with `invert`
// whether it is not; BOOL. NaN is among nothing.
FL_KERNEL_API musaError_t fl_is_among(
    FlKernelType type,
    void* out,
    const void* values,
    int64_t n,
    const void* sorted,
    int64_t m,
    int32_t invert,
    musaStream_t stream);

// out[r, i] = how many elements of sorted row r from i on equal element i.
FL_KERNEL_API musaError_t fl_run_lengths(
    FlKernelType type,
    void* out,
    const void* sorted,
    int64_t rows,
    int64_t n,
    musaStream_t stream);

// The lower median of each sorted row and its place. NaN is the median of a row
// with a NaN; with skip_nan only of a row of nothing else.
struct FlMedian {
  void* values;
  int64_t* places;
  const void* sorted;
  const int64_t* order;
  int64_t rows;
  int64_t n;
  int32_t skip_nan;
};
FL_KERNEL_API musaError_t
fl_median(FlKernelType type, const FlMedian* v, musaStream_t stream);

// out[i] = the one of `bins` equal parts of [low, high] that values[i] lies in,
// or `bins` if in none; INT32. Integers are divided as integers.
FL_KERNEL_API musaError_t fl_bin_of(
    FlKernelType type,
    void* out,
    const void* values,
    int64_t n,
    int64_t bins,
    double low,
    double high,
    musaStream_t stream);

// out[b] = how many of n sorted integers are b, for b below bins; INT64.
FL_KERNEL_API musaError_t fl_bin_counts(
    FlKernelType type,
    void* out,
    int64_t bins,
    const void* sorted,
    int64_t n,
    musaStream_t stream);

// out[b] += the weights of the integers that are b: sorted[i] had weight
// weights[order[i]]. Sums in double, always in one order. weights and out are
// FLOAT or DOUBLE; partial is scratch of 2 * fl_sum_chunks(n) doubles.
inline int64_t fl_sum_chunks(int64_t n) {
  return (n + 255) / 256;
}
struct FlBinSums {
  void* out;
  const int64_t* sorted;
  const int64_t* order;
  const void* weights;
  double* partial;
  int64_t n;
};
FL_KERNEL_API musaError_t
fl_bin_sums(FlKernelType type, const FlBinSums* v, musaStream_t stream);
