// SPDX-License-Identifier: Apache-2.0
// Kernels of two operands: gradients of activations.
#include "toolkit/engine/cuda/binary_rows.cuh"

namespace musa_standin::engine::cuda {

namespace fn = kernels;

void add_binary_gradients(BinaryTable& table) {
  using M = BinaryMode;
  BinaryRows rows{table};
  rows.real<fn::BinarySigmoidBw>(M::kSigmoidBw);
  rows.real<fn::BinaryTanhBw>(M::kTanhBw);
  rows.real<fn::BinarySiluBw>(M::kSiluBw);
  rows.real<fn::BinaryGeluBw>(M::kGeluBw);
  rows.real<fn::BinaryGeluTanhBw>(M::kGeluTanhBw);
  rows.number<fn::BinaryThresholdBw>(M::kThresholdBw);
  rows.real<fn::BinaryLeakyReluBw>(M::kLeakyReluBw);
  rows.real<fn::BinaryRelu6Bw>(M::kRelu6Bw);
  rows.real<fn::BinaryRsqrtBw>(M::kRsqrtBw);
}

} // namespace musa_standin::engine::cuda
