// SPDX-License-Identifier: Apache-2.0
// A dense operand as lines along one axis, and element types by tag.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include "toolkit/kernels/scalar_types.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

// outer × extent × inner elements; a line runs along extent.
struct Lines {
  int64_t outer = 1;
  int64_t extent = 1;
  int64_t inner = 1;

  Lines() = default;
  Lines(const View& v, int axis) : extent(v.dims[axis]) {
    for (int d = 0; d < axis; ++d)
      outer *= v.dims[d];
    for (int d = axis + 1; d < v.rank; ++d)
      inner *= v.dims[d];
  }
  [[nodiscard]] int64_t count() const { return outer * inner; }
  // Of the line's first element; the next one lies `inner` further.
  [[nodiscard]] int64_t start(int64_t line) const {
    return line / inner * extent * inner + line % inner;
  }
};

// NOLINTBEGIN(bugprone-branch-clone): each branch has a type of its own

// f(E()) with the element's C++ type.
template <class F>
auto with_number(Dtype type, F&& f) {
  switch (type) {
  case Dtype::kHalf:
    return f(kernels::Half());
  case Dtype::kBfloat16:
    return f(kernels::Bfloat16());
  case Dtype::kDouble:
    return f(double());
  case Dtype::kInt8:
    return f(int8_t());
  case Dtype::kInt16:
    return f(int16_t());
  case Dtype::kInt32:
    return f(int32_t());
  case Dtype::kInt64:
    return f(int64_t());
  case Dtype::kUint8:
    return f(uint8_t());
  case Dtype::kUint16:
    return f(uint16_t());
  case Dtype::kUint32:
    return f(uint32_t());
  case Dtype::kUint64:
    return f(uint64_t());
  default:
    return f(float());
  }
}

// f(E()) with an unsigned type of the element's size.
template <class F>
auto with_bits(int64_t bytes, F&& f) {
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

// NOLINTEND(bugprone-branch-clone)

// Element i of an INT32 or INT64 index.
inline int64_t index_at(const void* index, bool wide, int64_t i) {
  return wide ? static_cast<const int64_t*>(index)[i]
              : static_cast<const int32_t*>(index)[i];
}

} // namespace musa_standin::engine::cpu
