// SPDX-License-Identifier: Apache-2.0
// From a built TensorIterator to the arguments of a kernel of ours.
#include "csrc/ops/kernel_operands.h"

namespace torch_fl::ops {

bool has_kernel_type(at::ScalarType type) {
  switch (type) {
  case at::kByte:
  case at::kChar:
  case at::kShort:
  case at::kInt:
  case at::kLong:
  case at::kBool:
  case at::kHalf:
  case at::kBFloat16:
  case at::kFloat:
  case at::kDouble:
    return true;
  default:
    return false;
  }
}

FlKernelType kernel_type(at::ScalarType type) {
  switch (type) {
  case at::kByte:
    return kFlUint8;
  case at::kChar:
    return kFlInt8;
  case at::kShort:
    return kFlInt16;
  case at::kInt:
    return kFlInt32;
  case at::kLong:
    return kFlInt64;
  case at::kBool:
    return kFlBool;
  case at::kHalf:
    return kFlHalf;
  case at::kBFloat16:
    return kFlBfloat16;
  case at::kFloat:
    return kFlFloat;
  case at::kDouble:
    return kFlDouble;
  default:
    TORCH_CHECK_NOT_IMPLEMENTED(false, "no device kernel for dtype ", type);
  }
}

FlOperands kernel_operands(at::TensorIteratorBase& iter) {
  FlOperands v{};
  v.count = iter.ntensors();
  v.numel = iter.numel();
  TORCH_INTERNAL_ASSERT(v.count <= kFlMaxOperands);
  TORCH_CHECK_NOT_IMPLEMENTED(
      iter.ndim() <= kFlMaxRank,
      "flagos takes at most ",
      kFlMaxRank,
      " dimensions that cannot be merged, got ",
      iter.ndim());
  bool dense = iter.ndim() <= 1;
  for (int a = 0; a < v.count; ++a) {
    if (a > 0 && iter.is_cpu_scalar(a)) {
      v.real = iter.scalar_value<double>(a);
      if (c10::isIntegralType(iter.dtype(a), /*includeBool=*/true)) {
        v.number = iter.scalar_value<int64_t>(a);
      }
      v.number_at = a;
      continue;
    }
    v.address[a] = iter.data_ptr(a);
    const auto size = static_cast<int64_t>(iter.element_size(a));
    for (int d = 0; d < iter.ndim(); ++d) {
      v.strides[a][d] = iter.strides(a)[static_cast<size_t>(d)] / size;
    }
    dense = dense && (v.numel <= 1 || v.strides[a][0] == 1);
  }
  v.rank = dense ? 0 : iter.ndim();
  for (int d = 0; d < v.rank; ++d) {
    v.dims[d] = iter.shape()[static_cast<size_t>(d)];
  }
  return v;
}

} // namespace torch_fl::ops
