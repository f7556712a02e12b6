// SPDX-License-Identifier: Apache-2.0
// Kernels of one operand that give truth values.
#include "toolkit/engine/cuda/unary_rows.cuh"

namespace musa_standin::engine::cuda {

namespace fn = kernels;

void add_unary_tests(UnaryTable& table) {
  using M = UnaryMode;
  UnaryRows rows{table};
  rows.test<fn::UnaryEq>(M::kEq);
  rows.test<fn::UnaryNe>(M::kNe);
  rows.test<fn::UnaryLt>(M::kLt);
  rows.test<fn::UnaryLe>(M::kLe);
  rows.test<fn::UnaryGt>(M::kGt);
  rows.test<fn::UnaryGe>(M::kGe);
  rows.real_test<fn::UnaryIsNan>(M::kIsNan);
  rows.real_test<fn::UnaryIsInf>(M::kIsInf);
  rows.real_test<fn::UnaryIsFinite>(M::kIsFinite);
  rows.truth<fn::UnaryAnd>(M::kLogicalAnd);
  rows.truth<fn::UnaryOr>(M::kLogicalOr);
  rows.truth<fn::UnaryXor>(M::kLogicalXor);
  rows.truth<fn::UnaryIdentity>(M::kIsNonzero);
}

} // namespace musa_standin::engine::cuda
