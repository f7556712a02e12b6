// SPDX-License-Identifier: Apache-2.0
// What the softmax kernels take, and which there are.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cuda {

// Dense operands of outer x extent x inner elements. Backward: out is the
// forward's result, in the gradient of it, grad_in the result.
struct SoftmaxJob {
  SoftmaxMode mode;
  int64_t outer;
  int64_t extent;
  int64_t inner;
  void* out;
  const void* in;
  void* grad_in;
};

using SoftmaxKernel = void (*)(SoftmaxJob job);

struct SoftmaxKernels {
  // Rows (inner = 1) on a RowGrid: held in registers, or walked along twice.
  // Those in packs need rows that start at whole packs if held, and operands
  // that all start at the same place in a pack if walked.
  SoftmaxKernel (*held)(bool packed, int each);
  SoftmaxKernel walked_packed;
  SoftmaxKernel walked;
  // Lines side by side: threadIdx.x runs over lines, threadIdx.y along them.
  SoftmaxKernel lines;
  int pack;
  int most_packed; // packs that a thread can hold
  int most;
};

constexpr int kLineThreads = 8; // of one line

SoftmaxKernels softmax_forward_kernels(Dtype dtype);
SoftmaxKernels softmax_backward_kernels(Dtype dtype);

} // namespace musa_standin::engine::cuda
