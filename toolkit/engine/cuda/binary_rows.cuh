// SPDX-License-Identifier: Apache-2.0
// Rows of the table of two operands, by what a mode takes and gives.
#pragma once

#include "toolkit/engine/cuda/binary_kernels.h"
#include "toolkit/engine/cuda/elementwise.cuh"

#include "toolkit/kernels/binary.h"

namespace musa_standin::engine::cuda {
namespace {

using kernels::Bfloat16;
using kernels::Bool;
using kernels::Half;

struct BinaryRows {
  BinaryTable& table;

  BinaryTable::Row& row(BinaryMode mode) {
    return table.rows[static_cast<int>(mode)];
  }
  template <class Op, class E>
  static constexpr DenseKernel<2> kSame =
      dense<Op, Fixed<float, E>, Fixed<float, E>, Fixed<float, E>>;
  template <class Op, class E>
  static constexpr DenseKernel<2> kTest =
      dense<Op, Fixed<uint8_t, Bool>, Fixed<float, E>, Fixed<float, E>>;

  // Floating of any types.
  template <class Op>
  void real(BinaryMode mode) {
    using Any32 = Any<float, TypeSet::kReal>;
    using Any64 = Any<double, TypeSet::kReal>;
    row(mode) = {
        {kSame<Op, float>, kSame<Op, Half>, kSame<Op, Bfloat16>},
        {strided<Op, Any32, Any32, Any32>, strided<Op, Any64, Any64, Any64>}};
  }
  // Floating of any types, or integral of one.
  template <class Op>
  void number(BinaryMode mode) {
    using Whole = Any<int64_t, TypeSet::kWhole>;
    real<Op>(mode);
    row(mode).strided[kI64] = strided<Op, Whole, Whole, Whole>;
  }
  // The same, but integers give floating types.
  template <class Op>
  void division(BinaryMode mode) {
    using Any32 = Any<float, TypeSet::kAll>;
    using Any64 = Any<double, TypeSet::kAll>;
    real<Op>(mode);
    row(mode).strided[kF32] =
        strided<Op, Any<float, TypeSet::kReal>, Any32, Any32>;
    row(mode).strided[kF64] =
        strided<Op, Any<double, TypeSet::kReal>, Any64, Any64>;
  }
  // BOOL out.
  template <class Op>
  void test(BinaryMode mode) {
    using Out = Fixed<uint8_t, Bool>;
    using Any32 = Any<float, TypeSet::kReal>;
    using Any64 = Any<double, TypeSet::kReal>;
    using Whole = Any<int64_t, TypeSet::kWhole>;
    row(mode) = {
        {kTest<Op, float>, kTest<Op, Half>, kTest<Op, Bfloat16>},
        {strided<Op, Out, Any32, Any32>,
         strided<Op, Out, Any64, Any64>,
         strided<Op, Out, Whole, Whole>,
         strided<Op, Out, Out, Out>}};
  }
  // Any, taken as truth values.
  template <class Op>
  void truth(BinaryMode mode) {
    using Truth = Any<uint8_t, TypeSet::kAll>;
    row(mode).strided[kU8] = strided<Op, Fixed<uint8_t, Bool>, Truth, Truth>;
  }
};

} // namespace
} // namespace musa_standin::engine::cuda
