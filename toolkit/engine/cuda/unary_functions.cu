// SPDX-License-Identifier: Apache-2.0
// Kernels of one operand: powers, roots, logarithms, angles, rounding.
#include "toolkit/engine/cuda/unary_rows.cuh"

namespace musa_standin::engine::cuda {

namespace fn = kernels;

void add_unary_functions(UnaryTable& table) {
  using M = UnaryMode;
  UnaryRows rows{table};
  rows.number<fn::UnaryPow>(M::kPow);
  rows.real<fn::UnaryCube>(table.rows[kUnaryCube]);
  rows.real<fn::UnaryReciprocalSquare>(table.rows[kUnaryReciprocalSquare]);
  rows.real<fn::UnarySqrt>(M::kSqrt);
  rows.real<fn::UnaryRsqrt>(M::kRsqrt);
  rows.real<fn::UnaryReciprocal>(M::kReciprocal);
  rows.real<fn::UnaryExp>(M::kExp);
  rows.real<fn::UnaryLog>(M::kLog);
  rows.real<fn::UnaryLog2>(M::kLog2);
  rows.real<fn::UnaryLog10>(M::kLog10);
  rows.real<fn::UnaryLog1p>(M::kLog1p);
  rows.real<fn::UnarySin>(M::kSin);
  rows.real<fn::UnaryCos>(M::kCos);
  rows.real<fn::UnaryTan>(M::kTan);
  rows.real<fn::UnaryAcos>(M::kAcos);
  rows.real<fn::UnaryAtan>(M::kAtan);
  rows.real<fn::UnaryErf>(M::kErf);
  rows.real<fn::UnaryCeil>(M::kCeil);
  rows.real<fn::UnaryFloor>(M::kFloor);
  rows.real<fn::UnaryRound>(M::kRound);
}

} // namespace musa_standin::engine::cuda
