// SPDX-License-Identifier: Apache-2.0
// What the layer normalisation's kernels take, and which there are.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cuda {

// Rows of columns. Statistics are FLOAT, for DOUBLE elements DOUBLE; gamma,
// beta and their gradients are of the elements' type, or, with wide_affine, of
// the statistics'. Absent operands are null.
struct LayerNormJob {
  bool wide_affine;
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
  // Sums of parts of the rows for gamma and beta: [parts][2][columns]; null if
  // there is one part.
  void* partial;
  int64_t parts;
};

using LayerNormKernel = void (*)(LayerNormJob job);

// Threads of a block that walks down columns, and that joins the parts.
constexpr int kDownThreads = 8;
constexpr int kJoinThreads = 32;

struct LayerNormKernels {
  // On a RowGrid: rows held in registers, or walked along.
  LayerNormKernel (*held)(bool packed, int each);
  LayerNormKernel walked_packed;
  LayerNormKernel walked;
  int pack;
  int most_packed; // packs that a thread can hold
  int most;
};

struct LayerNormBackwardKernels {
  // As above, but `held` takes rows in turn, blockDim.y * gridDim.x apart, and
  // makes a part for gamma and beta in each block, too.
  LayerNormKernels input;
  // kWarp columns a block, kDownThreads threads down, blockIdx.y over parts.
  LayerNormKernel affine;
  // kWarp columns a block, kJoinThreads threads over the parts.
  LayerNormKernel join;
};

// Blocks of 256 threads that a processor surely has at a time: of `held`
// backward with so many elements a thread.
constexpr int held_blocks(int elements) {
  return elements <= 8 ? 4 : 2;
}

LayerNormKernels layer_norm_kernels(Dtype dtype);
LayerNormBackwardKernels layer_norm_backward_kernels(Dtype dtype);

} // namespace musa_standin::engine::cuda
