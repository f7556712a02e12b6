// SPDX-License-Identifier: Apache-2.0
// Rows of the table of one operand, by what a mode takes and gives.
#pragma once

#include "toolkit/engine/cuda/elementwise.cuh"
#include "toolkit/engine/cuda/unary_kernels.h"

#include "toolkit/kernels/unary.h"

namespace musa_standin::engine::cuda {
namespace {

using kernels::Bfloat16;
using kernels::Bool;
using kernels::Half;

struct UnaryRows {
  UnaryTable& table;

  UnaryTable::Row& row(UnaryMode mode) {
    return table.rows[static_cast<int>(mode)];
  }

  // Floating, the same out.
  template <class Op>
  void real(UnaryTable::Row& r) {
    using Any32 = Any<float, TypeSet::kReal>;
    using Double = Fixed<double, double>;
    r.dense[0] = dense<Op, Fixed<float, float>, Fixed<float, float>>;
    r.dense[1] = dense<Op, Fixed<float, Half>, Fixed<float, Half>>;
    r.dense[2] = dense<Op, Fixed<float, Bfloat16>, Fixed<float, Bfloat16>>;
    r.strided[kF32] = strided<Op, Any32, Any32>;
    r.strided[kF64] = strided<Op, Double, Double>;
  }
  template <class Op>
  void real(UnaryMode mode) {
    real<Op>(row(mode));
  }
  // Floating or integral, the same out.
  template <class Op>
  void number(UnaryMode mode) {
    using Any64 = Any<int64_t, TypeSet::kWhole>;
    real<Op>(mode);
    row(mode).strided[kI64] = strided<Op, Any64, Any64>;
  }
  // Floating as well; integers give floating types.
  template <class Op>
  void division(UnaryMode mode) {
    using Any32 = Any<float, TypeSet::kAll>;
    real<Op>(mode);
    row(mode).strided[kF32] = strided<Op, Any<float, TypeSet::kReal>, Any32>;
    row(mode).strided[kF64] =
        strided<Op, Fixed<double, double>, Any<double, TypeSet::kAll>>;
  }
  // Floating, BOOL out.
  template <class Op>
  void real_test(UnaryMode mode) {
    using Out = Fixed<uint8_t, Bool>;
    UnaryTable::Row& r = row(mode);
    r.dense[0] = dense<Op, Out, Fixed<float, float>>;
    r.dense[1] = dense<Op, Out, Fixed<float, Half>>;
    r.dense[2] = dense<Op, Out, Fixed<float, Bfloat16>>;
    r.strided[kF32] = strided<Op, Out, Any<float, TypeSet::kReal>>;
    r.strided[kF64] = strided<Op, Out, Fixed<double, double>>;
  }
  // Any, BOOL out.
  template <class Op>
  void test(UnaryMode mode) {
    using Out = Fixed<uint8_t, Bool>;
    real_test<Op>(mode);
    row(mode).strided[kI64] = strided<Op, Out, Any<int64_t, TypeSet::kWhole>>;
    row(mode).strided[kU8] = strided<Op, Out, Out>;
  }
  // Any, taken as truth values.
  template <class Op>
  void truth(UnaryMode mode) {
    row(mode).strided[kU8] =
        strided<Op, Fixed<uint8_t, Bool>, Any<uint8_t, TypeSet::kAll>>;
  }
};

} // namespace
} // namespace musa_standin::engine::cuda
