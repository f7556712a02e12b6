// SPDX-License-Identifier: Apache-2.0
// Kernels of one operand: arithmetic with a parameter, for all numbers.
#include "toolkit/engine/cuda/unary_rows.cuh"

namespace musa_standin::engine::cuda {

namespace fn = kernels;

void add_unary_numbers(UnaryTable& table) {
  using M = UnaryMode;
  UnaryRows rows{table};
  rows.number<fn::UnaryAdd>(M::kAdd);
  rows.number<fn::UnarySub>(M::kSub);
  rows.number<fn::UnaryMul>(M::kMul);
  rows.number<fn::UnaryDiv>(M::kDiv);
  rows.division<fn::UnaryDiv>(M::kTrueDiv);
  rows.number<fn::UnaryFloorDiv>(M::kFloorDiv);
  rows.number<fn::UnaryTruncDiv>(M::kTruncDiv);
  rows.number<fn::UnaryFloorMod>(M::kFloorMod);
  rows.number<fn::UnaryTruncMod>(M::kTruncMod);
  rows.number<fn::UnarySubBy>(M::kSubByAlpha);
  rows.number<fn::UnaryDivBy>(M::kDivByAlpha);
  rows.division<fn::UnaryDivBy>(M::kTrueDivByAlpha);
  rows.number<fn::UnaryFloorDivBy>(M::kFloorDivByAlpha);
  rows.number<fn::UnaryTruncDivBy>(M::kTruncDivByAlpha);
  rows.number<fn::UnaryMax>(M::kMax);
  rows.number<fn::UnaryMin>(M::kMin);
  rows.number<fn::UnaryAbs>(M::kAbs);
  rows.number<fn::UnarySign>(M::kSign);
  rows.number<fn::UnarySquare>(M::kSquare);
  rows.number<fn::UnaryRelu>(M::kRelu);
  rows.number<fn::UnaryRelu6>(M::kRelu6);
  rows.number<fn::UnaryClip>(M::kClip);
}

} // namespace musa_standin::engine::cuda
