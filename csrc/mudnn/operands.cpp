// SPDX-License-Identifier: Apache-2.0
// From a built TensorIterator to the operands of one muDNN call.
#include "csrc/mudnn/operands.h"

namespace torch_fl::mudnn {

namespace {

Number number_in(at::TensorIteratorBase& iter, int operand) {
  const at::ScalarType type = iter.dtype(operand);
  if (c10::isIntegralType(type, /*includeBool=*/true)) {
    return Number(iter.scalar_value<int64_t>(operand));
  }
  return Number(iter.scalar_value<double>(operand));
}

bool is_dense_run(at::TensorIteratorBase& iter, int operand) {
  return iter.ndim() == 0 || iter.numel() == 1 ||
      iter.strides(operand)[0] ==
      static_cast<int64_t>(iter.element_size(operand));
}

} // namespace

// As in the other constructor, entries beyond the rank stay uninitialised.
Operands::Operands(at::TensorIteratorBase& iter, at::ScalarType computed_in)
    : compute(computed_in), count(iter.ntensors()), numel(iter.numel()) {
  TORCH_INTERNAL_ASSERT(count <= kMaxOperands);
  flat = iter.ndim() <= 1;
  for (int a = 0; a < count; ++a) {
    type[a] = iter.dtype(a);
    if (a > 0 && iter.is_cpu_scalar(a)) {
      scalar_at = a;
      scalar = number_in(iter, a);
      continue;
    }
    addr[a] = iter.data_ptr(a);
    flat = flat && is_dense_run(iter, a);
  }
  if (flat) {
    rank = 1;
    dims[0] = numel;
    return;
  }
  rank = iter.ndim();
  TORCH_CHECK_NOT_IMPLEMENTED(
      rank <= kMaxRank,
      "flagos takes at most ",
      kMaxRank,
      " dimensions that cannot be merged, got ",
      rank);
  const auto shape = iter.shape();
  for (int i = 0; i < rank; ++i) {
    dims[i] = shape[static_cast<size_t>(rank - 1 - i)];
  }
  for (int a = 0; a < count; ++a) {
    if (a == scalar_at) {
      continue;
    }
    const auto bytes = iter.strides(a);
    const auto size = static_cast<int64_t>(iter.element_size(a));
    for (int i = 0; i < rank; ++i) {
      strides[a][i] = bytes[static_cast<size_t>(rank - 1 - i)] / size;
    }
  }
}

} // namespace torch_fl::mudnn
