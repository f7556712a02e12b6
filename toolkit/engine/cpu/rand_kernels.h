// SPDX-License-Identifier: Apache-2.0
// Table of the random number loops, one per instruction set.
#pragma once

#include "toolkit/engine/cpu/isa.h"
#include "toolkit/engine/dnn_types.h"
#include "toolkit/engine/rand.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

// Dropout of element i by word position + i of the seed's sequence, and its
// gradient, which reads the mask. Host addresses.
struct DropoutJob {
  Dtype dtype;
  double p;
  double scale;
  uint64_t seed;
  uint64_t position;
  void* out;
  const void* in;
  uint8_t* mask;
};

struct RandKernels {
  // Elements [begin, end) of the call; args.out is a host address. begin is
  // even.
  void (*generate)(const RandArgs& args, int64_t begin, int64_t end);
  // Elements [begin, end).
  void (*dropout)(const DropoutJob& job, int64_t begin, int64_t end);
  void (*dropout_backward)(const DropoutJob& job, int64_t begin, int64_t end);
};

MUSA_ISA_DECLARE(RandKernels, kRandKernels);

} // namespace musa_standin::engine::cpu
