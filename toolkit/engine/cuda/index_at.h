// SPDX-License-Identifier: Apache-2.0
// Indices that operators read, and elements by their size.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cuda {

// f(E()) with an unsigned type of the element's size.
template <class F>
void with_bits(int64_t bytes, F&& f) {
  switch (bytes) {
  case 2:
    return f(uint16_t());
  case 4:
    return f(uint32_t());
  case 8:
    return f(uint64_t());
  default:
    return f(uint8_t());
  }
}

#if defined(__CUDACC__)

// Element i of an INT32 or INT64 index.
__device__ inline int64_t index_at(const void* index, bool wide, int64_t i) {
  return wide ? static_cast<const int64_t*>(index)[i]
              : static_cast<const int32_t*>(index)[i];
}

#endif

} // namespace musa_standin::engine::cuda
