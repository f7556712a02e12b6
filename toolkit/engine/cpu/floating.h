// SPDX-License-Identifier: Apache-2.0
// From an operand's type at run time to a C++ type; for files that are compiled
// per instruction set, hence the unnamed namespace.
#pragma once

#include "toolkit/engine/dnn_types.h"
#include "toolkit/kernels/widen.h"

namespace musa_standin::engine::cpu {
namespace {

template <class T>
struct TypeTag {
  using Type = T;
};

// f(TypeTag<T>{}) for FLOAT, HALF, BFLOAT16 and DOUBLE, the only types that the
// callers let through.
template <class F>
inline void with_floating(Dtype dtype, F&& f) {
  switch (dtype) {
  case Dtype::kHalf:
    return f(TypeTag<kernels::Half>{});
  case Dtype::kBfloat16:
    return f(TypeTag<kernels::Bfloat16>{});
  case Dtype::kDouble:
    return f(TypeTag<double>{});
  default:
    return f(TypeTag<float>{});
  }
}

inline int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
inline int64_t larger(int64_t a, int64_t b) {
  return a < b ? b : a;
}

} // namespace
} // namespace musa_standin::engine::cpu
