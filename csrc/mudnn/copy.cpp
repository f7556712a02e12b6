// SPDX-License-Identifier: Apache-2.0
// Strided copies and dtype casts: Unary IDENTITY and CAST.
#include "csrc/mudnn/copy.h"

#include "csrc/mudnn/elementwise.h"

#include <ATen/TensorIterator.h>
#include <ATen/ops/view_as_real.h>

namespace torch_fl::mudnn {

namespace {

// What muDNN copies is bytes: any type of that size will do.
at::ScalarType carrier(at::ScalarType type) {
  if (has_dnn_type(type)) {
    return type;
  }
  switch (c10::elementSize(type)) {
  case 1:
    return at::kByte;
  case 2:
    return at::kShort;
  case 4:
    return at::kInt;
  case 8:
    return at::kLong;
  default:
    return type;
  }
}

void run(const at::Tensor& dst, const at::Tensor& src) {
  auto iter = at::TensorIteratorConfig()
                  .add_output(dst)
                  .add_const_input(src)
                  .resize_outputs(false)
                  .check_all_same_dtype(false)
                  .build();
  const bool same = dst.scalar_type() == src.scalar_type();
  Operands operands(iter, src.scalar_type());
  operands.type[0] = carrier(operands.type[0]);
  operands.type[1] = carrier(operands.type[1]);
  operands.compute = operands.type[1];
  if (operands.numel == 0) {
    return;
  }
  if (same) {
    unary(operands, UnaryMode::IDENTITY);
  } else {
    cast_operand(operands);
  }
}

} // namespace

bool can_copy(at::ScalarType to, at::ScalarType from) {
  const auto known = [](at::ScalarType type) {
    return has_dnn_type(c10::toRealValueType(type));
  };
  return to == from || (known(to) && known(from));
}

void copy(const at::Tensor& dst, const at::Tensor& src) {
  const bool to_complex = dst.is_complex();
  const bool from_complex = src.is_complex();
  const bool same = dst.scalar_type() == src.scalar_type();
  if (to_complex && (!same || dst.scalar_type() == at::kComplexDouble)) {
    const at::Tensor parts = at::view_as_real(dst);
    if (from_complex) {
      run(parts, at::view_as_real(src));
    } else {
      run(parts.select(-1, 0), src);
      fill(parts.select(-1, 1), Number(int64_t{0}));
    }
  } else if (from_complex && !to_complex) {
    run(dst, at::view_as_real(src).select(-1, 0));
  } else {
    run(dst, src);
  }
}

void negate(const at::Tensor& tensor) {
  unary_tensor(tensor, tensor, UnaryMode::MUL, Number(int64_t{-1}));
}

} // namespace torch_fl::mudnn
