// SPDX-License-Identifier: Apache-2.0
// Kernels of one operand: activations.
#include "toolkit/engine/cuda/unary_rows.cuh"

namespace musa_standin::engine::cuda {

namespace fn = kernels;

void add_unary_activations(UnaryTable& table) {
  using M = UnaryMode;
  UnaryRows rows{table};
  rows.real<fn::UnaryTanh>(M::kTanh);
  rows.real<fn::UnarySigmoid>(M::kSigmoid);
  rows.real<fn::UnarySilu>(M::kSilu);
  rows.row(M::kSwish) = rows.row(M::kSilu);
  rows.real<fn::UnaryMish>(M::kMish);
  rows.real<fn::UnaryHardSwish>(M::kHardSwish);
  rows.real<fn::UnaryHardSigmoid>(M::kHardSigmoid);
  rows.real<fn::UnaryLeakyRelu>(M::kLeakyRelu);
  rows.real<fn::UnaryElu>(M::kElu);
  rows.real<fn::UnarySoftplus>(M::kSoftplus);
  rows.real<fn::UnaryGelu>(M::kGelu);
  rows.real<fn::UnaryGeluTanh>(M::kGeluTanh);
}

} // namespace musa_standin::engine::cuda
