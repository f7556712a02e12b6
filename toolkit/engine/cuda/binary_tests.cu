// SPDX-License-Identifier: Apache-2.0
// Kernels of two operands that give truth values.
#include "toolkit/engine/cuda/binary_rows.cuh"

namespace musa_standin::engine::cuda {

namespace fn = kernels;

void add_binary_tests(BinaryTable& table) {
  using M = BinaryMode;
  BinaryRows rows{table};
  rows.test<fn::BinaryEq>(M::kEq);
  rows.test<fn::BinaryNe>(M::kNe);
  rows.test<fn::BinaryLt>(M::kLt);
  rows.test<fn::BinaryLe>(M::kLe);
  rows.test<fn::BinaryGt>(M::kGt);
  rows.test<fn::BinaryGe>(M::kGe);
  rows.truth<fn::BinaryAnd>(M::kLogicalAnd);
  rows.truth<fn::BinaryOr>(M::kLogicalOr);
  rows.truth<fn::BinaryXor>(M::kLogicalXor);
}

} // namespace musa_standin::engine::cuda
