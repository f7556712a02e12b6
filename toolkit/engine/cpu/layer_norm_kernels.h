// SPDX-License-Identifier: Apache-2.0
// Table of the layer normalisation loops, one per instruction set.
#pragma once

#include "toolkit/engine/cpu/isa.h"
#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

// Dense rows x columns. Statistics are FLOAT, for DOUBLE elements DOUBLE; scale
// and shift have the elements' type or the statistics'. Host addresses, null
// for what is absent.
struct LayerNormJob {
  Dtype dtype;
  Dtype affine; // type of gamma, beta and their gradients
  int64_t rows;
  int64_t columns;
  double epsilon;
  void* out; // backward: the input's gradient
  const void* in;
  const void* grad_out;
  void* mean;
  void* rstd;
  const void* gamma;
  const void* beta;
  void* grad_gamma;
  void* grad_beta;
};

struct LayerNormKernels {
  // For rows [begin, end).
  void (*forward)(const LayerNormJob& job, int64_t begin, int64_t end);
  void (*backward_input)(const LayerNormJob& job, int64_t begin, int64_t end);
  // For columns [begin, end).
  void (*backward_affine)(const LayerNormJob& job, int64_t begin, int64_t end);
};

MUSA_ISA_DECLARE(LayerNormKernels, kLayerNormKernels);

} // namespace musa_standin::engine::cpu
