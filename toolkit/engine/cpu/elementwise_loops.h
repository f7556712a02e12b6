// SPDX-License-Identifier: Apache-2.0
// What the elementwise loops share: numbers in the compute type, pieces that
// take a quicker loop, the table's rows. For files that are compiled per
// instruction set, hence the unnamed namespace.
#pragma once

#include "toolkit/engine/cpu/elementwise_kernels.h"

#include <cstdint>

namespace musa_standin::engine::cpu {
namespace {

// alpha (0) or beta (1).
template <class T>
inline T parameter(const Params& p, int i) {
  return static_cast<T>(p.real[i]);
}
template <>
inline int64_t parameter<int64_t>(const Params& p, int i) {
  return p.whole[i];
}
template <>
inline uint8_t parameter<uint8_t>(const Params& p, int i) {
  return static_cast<uint8_t>(p.whole[i] != 0);
}

// A vectorised loop that is not good for all arguments takes the pieces
// without a far one; is_far(i) says which those are, and the other loop takes
// the rest. Both are called with a piece's first element and count.
template <class IsFar, class Near, class Any>
inline void by_pieces(int64_t n, IsFar is_far, Near near, Any any) {
  constexpr int64_t kPiece = 512;
  for (int64_t at = 0; at < n; at += kPiece) {
    const int64_t count = n - at < kPiece ? n - at : kPiece;
    int far = 0;
    for (int64_t i = 0; i < count; ++i)
      far |= is_far(at + i);
    if (far == 0) {
      near(at, count);
    } else {
      any(at, count);
    }
  }
}

// Fills a table; Loop::map<Op, T, R> is the MapFn of an operator from T to R.
template <class Table, class Mode, class Loop>
struct Builder {
  Table table{};

  constexpr void put(Compute type, Mode mode, MapFn fn) {
    table.map[type][static_cast<int>(mode)] = fn;
  }
  template <class Op>
  constexpr void real(Mode mode) {
    put(kF32, mode, Loop::template map<Op, float, float>);
    put(kF64, mode, Loop::template map<Op, double, double>);
  }
  template <class Op>
  constexpr void number(Mode mode) {
    real<Op>(mode);
    put(kI64, mode, Loop::template map<Op, int64_t, int64_t>);
  }
  template <class Op>
  constexpr void real_test(Mode mode) {
    put(kF32, mode, Loop::template map<Op, float, uint8_t>);
    put(kF64, mode, Loop::template map<Op, double, uint8_t>);
  }
  template <class Op>
  constexpr void test(Mode mode) {
    real_test<Op>(mode);
    put(kI64, mode, Loop::template map<Op, int64_t, uint8_t>);
    truth<Op>(mode);
  }
  template <class Op>
  constexpr void truth(Mode mode) {
    put(kU8, mode, Loop::template map<Op, uint8_t, uint8_t>);
  }
};

} // namespace
} // namespace musa_standin::engine::cpu
