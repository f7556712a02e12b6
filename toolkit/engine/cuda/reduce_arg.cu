// SPDX-License-Identifier: Apache-2.0
// Positions of the largest and smallest elements.
#include "toolkit/engine/cuda/reduce_device.h"

#include "toolkit/kernels/fold.h"

#include <type_traits>

namespace musa_standin::engine::cuda {
namespace {

// A NaN beats all but a NaN; of equals the first position wins.
template <bool Largest, class C>
struct ArgOp {
  using Compute = C;
  struct State {
    int64_t at; // -1: nothing yet
    C value;
    uint32_t filler[2 - sizeof(C) / 8 * 2 + 1 - 1];
  };
};

} // namespace
} // namespace musa_standin::engine::cuda
