// SPDX-License-Identifier: Apache-2.0
// Running extrema and logarithms of sums: muDNN's Cum adds and multiplies only.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

// A dense tensor of [outer, n, inner], scanned along n.
struct FlScan {
  int64_t outer;
  int64_t n;
  int64_t inner;
  void* scratch; // fl_scan_bytes of it
};

// 16 bytes for each chunk of 32 elements, and for the chunks of these.
inline int64_t fl_scan_bytes(const FlScan& v) {
  int64_t states = 0;
  for (int64_t m = (v.n + 31) / 32; m > 1; m = (m + 31) / 32) {
    states += m;
  }
  return 16 * states * v.outer * v.inner;
}

// The largest (or smallest) so far and the last place that has it, INT64. NaN
// is beyond all numbers.
FL_KERNEL_API musaError_t fl_running_extreme(
    FlKernelType type,
    void* values,
    int64_t* places,
    const void* in,
    int32_t largest,
    const FlScan* v,
    musaStream_t stream);

// log(exp(in[0]) + ... + exp(in[i])), of a floating type.
FL_KERNEL_API musaError_t fl_logcumsumexp(
    FlKernelType type,
    void* out,
    const void* in,
    const FlScan* v,
    musaStream_t stream);
