// SPDX-License-Identifier: Apache-2.0
// Kernels of conversions between element types.
#include "toolkit/engine/cuda/unary_rows.cuh"

namespace musa_standin::engine::cuda {

namespace {

using Op = kernels::UnaryIdentity;

template <class Out, class In>
constexpr DenseKernel<1> kBetween =
    dense<Op, Fixed<float, Out>, Fixed<float, In>>;

template <class C>
constexpr StridedKernel<1> kThrough =
    strided<Op, Any<C, TypeSet::kAll>, Any<C, TypeSet::kAll>>;

} // namespace

const CastTable& cast_table() {
  static const CastTable table = {
      {{nullptr, kBetween<float, Half>, kBetween<float, Bfloat16>},
       {kBetween<Half, float>, nullptr, kBetween<Half, Bfloat16>},
       {kBetween<Bfloat16, float>, kBetween<Bfloat16, Half>, nullptr}},
      {kThrough<float>, kThrough<double>, kThrough<int64_t>, nullptr}};
  return table;
}

} // namespace musa_standin::engine::cuda
