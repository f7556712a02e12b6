// SPDX-License-Identifier: Apache-2.0
// Table of the random number loops, one per instruction set.
#pragma once

#include "toolkit/engine/cpu/isa.h"
#include "toolkit/engine/rand.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

struct RandKernels {
  // Elements [begin, end) of the call; args.out is a host address. begin is
  // even.
  void (*generate)(const RandArgs& args, int64_t begin, int64_t end);
  // Words [first, first + n) of the seed's sequence.
  void (*words)(uint64_t seed, uint64_t first, uint32_t* out, int64_t n);
};

MUSA_ISA_DECLARE(RandKernels, kRandKernels);

} // namespace musa_standin::engine::cpu
