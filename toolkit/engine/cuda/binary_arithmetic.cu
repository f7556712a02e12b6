// SPDX-License-Identifier: Apache-2.0
// Kernels of two operands: arithmetic.
#include "toolkit/engine/cuda/binary_rows.cuh"

namespace musa_standin::engine::cuda {

namespace fn = kernels;

void add_binary_arithmetic(BinaryTable& table) {
  using M = BinaryMode;
  BinaryRows rows{table};
  rows.number<fn::BinaryAdd>(M::kAdd);
  rows.number<fn::BinarySub>(M::kSub);
  rows.number<fn::BinaryMul>(M::kMul);
  rows.number<fn::BinaryMax>(M::kMax);
  rows.number<fn::BinaryMin>(M::kMin);
  rows.number<fn::BinaryAddAlpha>(M::kAddAlpha);
  rows.number<fn::BinarySubAlpha>(M::kSubAlpha);
  rows.number<fn::BinaryDiv>(M::kDiv);
  rows.division<fn::BinaryDiv>(M::kTrueDiv);
  rows.number<fn::BinaryFloorDiv>(M::kFloorDiv);
  rows.number<fn::BinaryTruncDiv>(M::kTruncDiv);
  rows.number<fn::BinaryFloorMod>(M::kFloorMod);
  rows.number<fn::BinaryTruncMod>(M::kTruncMod);
  rows.real<fn::BinaryDivNoNan>(M::kDivNoNan);
  rows.real<fn::BinaryPow>(M::kPow);
  rows.number<fn::BinarySquaredDiff>(M::kSquaredDiff);
  rows.real<fn::BinaryPrelu>(M::kPrelu);
}

} // namespace musa_standin::engine::cuda
