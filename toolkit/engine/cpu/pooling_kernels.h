// SPDX-License-Identifier: Apache-2.0
// Table of the pooling loops, one per instruction set.
#pragma once

#include "toolkit/engine/cpu/isa.h"
#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

struct PoolExtent {
  int64_t in;
  int64_t out;
  int64_t kernel;
  int64_t pad;
  int64_t stride;
  int64_t dilation;
};

// planes images of height x width positions with `depth` channels side by side
// (1 in NCHW, where each channel is a plane). Indices count positions of a
// plane. Host addresses; indices may be null forward.
struct PoolJob {
  Dtype dtype;
  bool maximum;
  bool adaptive;
  bool count_padding;
  int64_t divisor; // 0: the window's size
  int64_t planes;
  int64_t depth;
  PoolExtent height;
  PoolExtent width;
  void* out; // backward: the gradient that comes in
  void* in;  // backward: the gradient that is made
  int64_t* indices;
};

// For planes [begin, end).
struct PoolingKernels {
  void (*forward)(const PoolJob& job, int64_t begin, int64_t end);
  void (*backward)(const PoolJob& job, int64_t begin, int64_t end);
};

MUSA_ISA_DECLARE(PoolingKernels, kPoolingKernels);

} // namespace musa_standin::engine::cpu
