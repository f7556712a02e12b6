// SPDX-License-Identifier: Apache-2.0
// A batch of images as plain data: what the kernels on images take.
#pragma once

#include "csrc/kernels/operands.h"

// Sizes and strides of batch, channels, depth, height, width; a dimension that
// a tensor lacks has size 1. Each size is below 2^31. Strides in elements, of
// any sign and order; kernels are fast where one of width or channels is dense.
struct FlImage {
  void* address;
  int64_t sizes[5];
  int64_t strides[5];
};
