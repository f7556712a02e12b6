// SPDX-License-Identifier: Apache-2.0
// Kernels of three operands.
#include "toolkit/engine/cuda/binary_kernels.h"
#include "toolkit/engine/cuda/elementwise.cuh"

#include "toolkit/kernels/binary.h"

namespace musa_standin::engine::cuda {

namespace {

using kernels::Bfloat16;
using kernels::Half;

struct Choose {
  template <class E>
  static __device__ E of(uint8_t first, E a, E b, E /*alpha*/) {
    return first != 0 ? a : b;
  }
};

template <class Op, class A>
constexpr StridedKernel<3> kStrided = strided<Op, A, A, A, A>;
template <class Op, class E>
constexpr DenseKernel<3> kDense = dense<
    Op,
    Fixed<float, E>,
    Fixed<float, E>,
    Fixed<float, E>,
    Fixed<float, E>>;

template <class Op>
constexpr TernaryTable::Row kNumbers = {
    {kDense<Op, float>, kDense<Op, Half>, kDense<Op, Bfloat16>},
    {kStrided<Op, Any<float, TypeSet::kReal>>,
     kStrided<Op, Fixed<double, double>>,
     kStrided<Op, Any<int64_t, TypeSet::kWhole>>}};

template <class E>
void add_select(TernaryTable& table, int size) {
  using Whole = Fixed<E, E>;
  using Truth = Fixed<uint8_t, uint8_t>;
  table.select_dense[size] = dense<Choose, Whole, Truth, Whole, Whole>;
  table.select_strided[size] = strided<Choose, Whole, Truth, Whole, Whole>;
}

TernaryTable make_table() {
  TernaryTable table{};
  const auto add = [&](TernaryMode mode, const TernaryTable::Row& row) {
    table.rows[static_cast<int>(mode)] = row;
  };
  add(TernaryMode::kAddcmul, kNumbers<kernels::TernaryAddcmul>);
  add(TernaryMode::kAddcmulAlpha, kNumbers<kernels::TernaryAddcmul>);
  add(TernaryMode::kAddcdiv, kNumbers<kernels::TernaryAddcdiv>);
  add(TernaryMode::kAddcdivAlpha, kNumbers<kernels::TernaryAddcdiv>);
  add(TernaryMode::kClamp, kNumbers<kernels::TernaryClamp>);
  add_select<int8_t>(table, 0); // uint8_t would be read as a truth value
  add_select<uint16_t>(table, 1);
  add_select<uint32_t>(table, 2);
  add_select<uint64_t>(table, 3);
  return table;
}

} // namespace

const TernaryTable& ternary_table() {
  static const TernaryTable table = make_table();
  return table;
}

} // namespace musa_standin::engine::cuda
