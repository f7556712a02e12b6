// SPDX-License-Identifier: Apache-2.0
// Words of a Philox sequence from any position on, for kernels.
#pragma once

#include "toolkit/kernels/philox.h"

#include <cstdint>

namespace musa_standin::engine::cuda {
namespace {

// The four words that begin at `position` of the seed's sequence.
__device__ inline kernels::PhiloxWords words_at(
    uint64_t seed,
    uint64_t position) {
  const kernels::PhiloxWords first = kernels::philox(seed, position / 4, 0);
  const uint32_t shift = static_cast<uint32_t>(position % 4);
  if (shift == 0) { // the same for all threads, mostly
    return first;
  }
  const kernels::PhiloxWords next = kernels::philox(seed, position / 4 + 1, 0);
  switch (shift) {
  case 1:
    return {{first.v[1], first.v[2], first.v[3], next.v[0]}};
  case 2:
    return {{first.v[2], first.v[3], next.v[0], next.v[1]}};
  default:
    return {{first.v[3], next.v[0], next.v[1], next.v[2]}};
  }
}

} // namespace
} // namespace musa_standin::engine::cuda
