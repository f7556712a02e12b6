// SPDX-License-Identifier: Apache-2.0
// What muDNN takes several calls for, or cannot do, in one kernel of ours.
#include "csrc/ops/fused.h"

#include "csrc/ops/math.h"

namespace torch_fl::ops {

namespace {

FlOperands flat(const mudnn::Operands& dense) {
  FlOperands v{};
  TORCH_INTERNAL_ASSERT(
      dense.flat && dense.matched && dense.count <= kFlMaxOperands);
  v.count = dense.count;
  v.numel = dense.numel;
  for (int a = 0; a < dense.count; ++a) {
    if (a == dense.scalar_at) {
      v.number_at = a;
      v.number = dense.scalar.integer;
      v.real = dense.scalar.real;
    } else {
      v.address[a] = dense.addr[a];
    }
  }
  return v;
}

} // namespace

bool fuses(at::TensorIteratorBase& iter, at::ScalarType type) {
  return has_kernel_type(type) && type != at::kBool && fits_kernel(iter);
}
bool fuses_dense() {
  return true;
}

void fuse(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    Fused op,
    const at::Scalar& number) {
  switch (op) {
  case Fused::kAddcdiv:
    return compute(iter, type, kFlAddcdiv, math_numbers({number}));
  case Fused::kAddcmul:
    return compute(iter, type, kFlAddcmul, math_numbers({number}));
  case Fused::kExpm1:
    return compute(iter, type, kFlExpm1);
  case Fused::kLerpNumber:
    return compute(iter, type, kFlLerpNumber, math_numbers({number}));
  case Fused::kLerpTensor:
    return compute(iter, type, kFlLerp);
  case Fused::kPower:
    return compute(iter, type, kFlPower);
  case Fused::kPowerNumber:
    return compute(iter, type, kFlPowerNumber, math_numbers({number}));
  }
}

void fuse(const mudnn::Operands& dense, Fused op, const at::Scalar& number) {
  if (dense.numel == 0) {
    return;
  }
  const FlOperands v = flat(dense);
  const FlKernelType type = kernel_type(dense.compute);
  const FlMath math = math_numbers({number});
  switch (op) {
  case Fused::kAddcdiv:
    FL_MUSA_CHECK(fl_ternary(kFlAddcdiv, type, &v, &math, kernel_stream()));
    return;
  case Fused::kAddcmul:
    FL_MUSA_CHECK(fl_ternary(kFlAddcmul, type, &v, &math, kernel_stream()));
    return;
  case Fused::kLerpNumber:
    FL_MUSA_CHECK(fl_binary(kFlLerpNumber, type, &v, &math, kernel_stream()));
    return;
  default:
    TORCH_INTERNAL_ASSERT(false, "no dense call of this kind");
  }
}

} // namespace torch_fl::ops
