// SPDX-License-Identifier: Apache-2.0
// Bits of integers on kernels of ours: muDNN has no modes for them.
#include "csrc/ops/bits.h"

#include "csrc/kernels/bits.h"
#include "csrc/ops/kernel_operands.h"

#include <ATen/ops/full.h>

namespace torch_fl::ops {

namespace {

FlBits mode_of(Bits op) {
  switch (op) {
  case Bits::kAnd:
    return kFlBitsAnd;
  case Bits::kOr:
    return kFlBitsOr;
  case Bits::kXor:
    return kFlBitsXor;
  case Bits::kShiftLeft:
    return kFlBitsShiftLeft;
  case Bits::kShiftRight:
    return kFlBitsShiftRight;
  }
  TORCH_INTERNAL_ASSERT(false);
}

// One dtype, at most one CPU number: what a kernel takes.
bool plain(at::TensorIteratorBase& iter) {
  const at::ScalarType type = iter.common_dtype();
  int numbers = 0;
  for (int a = 0; a < iter.ntensors(); ++a) {
    if (a > 0 && iter.is_cpu_scalar(a)) {
      ++numbers;
    } else if (iter.dtype(a) != type) {
      return false;
    }
  }
  return numbers <= 1;
}

at::Tensor converted(at::TensorIteratorBase& iter, int operand) {
  const at::ScalarType type = iter.common_dtype();
  if (iter.is_cpu_scalar(operand)) {
    return at::full(
        {},
        iter.scalar_value<int64_t>(operand),
        iter.tensor(0).options().dtype(type));
  }
  return iter.tensor(operand).to(type);
}

void run(at::TensorIteratorBase& iter, Bits op) {
  const FlOperands v = kernel_operands(iter);
  FL_MUSA_CHECK(fl_bits_binary(
      mode_of(op),
      kernel_type(iter.common_dtype()),
      &v,
      kernel_stream()));
}

} // namespace

bool computes_bits(at::TensorIteratorBase& iter) {
  return c10::isIntegralType(iter.common_dtype(), /*includeBool=*/true) &&
      has_kernel_type(iter.common_dtype()) && iter.ndim() <= kFlMaxRank;
}

void binary_bits(at::TensorIteratorBase& iter, Bits op) {
  if (iter.numel() == 0) {
    return;
  }
  if (plain(iter)) {
    run(iter, op);
    return;
  }
  const at::Tensor left = converted(iter, 1);
  const at::Tensor right = converted(iter, 2);
  at::TensorIterator same = at::TensorIteratorConfig()
                                .add_owned_output(at::Tensor())
                                .add_owned_const_input(left)
                                .add_owned_const_input(right)
                                .build();
  run(same, op);
  iter.tensor(0).copy_(same.tensor(0));
}

void not_bits(at::TensorIteratorBase& iter) {
  if (iter.numel() == 0) {
    return;
  }
  const FlOperands v = kernel_operands(iter);
  FL_MUSA_CHECK(
      fl_bits_not(kernel_type(iter.common_dtype()), &v, kernel_stream()));
}

} // namespace torch_fl::ops
