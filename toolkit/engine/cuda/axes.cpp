// SPDX-License-Identifier: Apache-2.0
// How an operand's axes are put in order.
#include "toolkit/engine/cuda/axes.h"

#include <utility>

namespace musa_standin::engine::cuda {

void Axes::merge(bool keep_order) {
  int kept = 0;
  for (int d = 0; d < rank; ++d) {
    if (dims[d] == 1)
      continue;
    dims[kept] = dims[d];
    strides[kept++] = strides[d];
  }
  for (int d = 1; d < kept && !keep_order; ++d) {
    for (int e = d; e > 0 && strides[e - 1] < strides[e]; --e) {
      std::swap(strides[e - 1], strides[e]);
      std::swap(dims[e - 1], dims[e]);
    }
  }
  rank = 0;
  for (int d = 0; d < kept; ++d) {
    if (rank > 0 && strides[rank - 1] == strides[d] * dims[d]) {
      dims[rank - 1] *= dims[d];
      strides[rank - 1] = strides[d];
    } else {
      add(dims[d], strides[d]);
    }
  }
  if (rank == 0)
    add(1, 1);
}

void Axes::finish() {
  int64_t positions = 1;
  for (int d = 0; d < rank; ++d)
    positions *= dims[d];
  wide = positions > INT32_MAX;
  // Not used where `wide`; then an extent may not fit.
  for (int d = 1; d < rank && !wide; ++d)
    by[d] = make_divider(dims[d]);
}

} // namespace musa_standin::engine::cuda
