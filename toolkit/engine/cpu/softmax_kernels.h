// SPDX-License-Identifier: Apache-2.0
// Table of the softmax loops, one per instruction set.
#pragma once

#include "toolkit/engine/cpu/isa.h"
#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

// Dense operands of outer x extent x inner elements; addresses are the host's.
// Backward: out is the forward's result, in the gradient of it, grad_in the
// result.
struct SoftmaxJob {
  SoftmaxMode mode;
  Dtype dtype;
  int64_t outer;
  int64_t extent;
  int64_t inner;
  void* out;
  const void* in;
  void* grad_in;
};

// Inner positions of a unit where inner > 1; elsewhere a unit is a row.
constexpr int64_t kSoftmaxBlock = 64;

inline int64_t softmax_units(const SoftmaxJob& job) {
  return job.outer * ((job.inner + kSoftmaxBlock - 1) / kSoftmaxBlock);
}

// For units [begin, end).
struct SoftmaxKernels {
  void (*forward)(const SoftmaxJob& job, int64_t begin, int64_t end);
  void (*backward)(const SoftmaxJob& job, int64_t begin, int64_t end);
};

MUSA_ISA_DECLARE(SoftmaxKernels, kSoftmaxKernels);

} // namespace musa_standin::engine::cpu
