// SPDX-License-Identifier: Apache-2.0
// Table of the batch normalisation loops, one per instruction set.
#pragma once

#include "toolkit/engine/cpu/isa.h"
#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

// Elements of channel c: planes [b][c][0, plane) for b in [0, batch). A plane
// of one element is the row-major matrix of batch x channels. Statistics, scale
// and shift are FLOAT, for DOUBLE elements DOUBLE; absent ones are null. Host
// addresses.
struct BatchNormJob {
  Dtype dtype;
  int64_t batch;
  int64_t channels;
  int64_t plane;
  double epsilon;
  double momentum;
  void* out; // backward: the input's gradient
  const void* in;
  const void* grad_out;
  void* running_mean;
  void* running_var;
  void* save_mean;
  void* save_invstd;
  const void* gamma;
  const void* beta;
  void* grad_gamma;
  void* grad_beta;
  void* grad_mean;
  void* grad_var;
};

// For channels [begin, end).
struct BatchNormKernels {
  void (*inference)(const BatchNormJob& job, int64_t begin, int64_t end);
  void (*training)(const BatchNormJob& job, int64_t begin, int64_t end);
  void (*backward)(const BatchNormJob& job, int64_t begin, int64_t end);
};

MUSA_ISA_DECLARE(BatchNormKernels, kBatchNormKernels);

} // namespace musa_standin::engine::cpu
