// SPDX-License-Identifier: Apache-2.0
// Bitwise operators: BOOL as logic on muDNN, integers on kernels of ours.
#include "csrc/ops/bits.h"

#include "csrc/ops/elementwise.h"

#include <ATen/ScalarOps.h>
#include <ATen/ops/bitwise_and_meta.h>
#include <ATen/ops/bitwise_left_shift_meta.h>
#include <ATen/ops/bitwise_not_meta.h>
#include <ATen/ops/bitwise_or_meta.h>
#include <ATen/ops/bitwise_right_shift_meta.h>
#include <ATen/ops/bitwise_xor_meta.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::BinaryMode;
using mudnn::BinaryRow;
using mudnn::Number;
using mudnn::Operands;
using mudnn::UnaryMode;

constexpr BinaryRow logic_row(BinaryMode both, UnaryMode number) {
  return {both, number, number, true, true, true};
}
constexpr BinaryRow kAnd =
    logic_row(BinaryMode::LOGICAL_AND, UnaryMode::LOGICAL_AND);
constexpr BinaryRow kOr =
    logic_row(BinaryMode::LOGICAL_OR, UnaryMode::LOGICAL_OR);
constexpr BinaryRow kXor =
    logic_row(BinaryMode::LOGICAL_XOR, UnaryMode::LOGICAL_XOR);

template <class Meta, const BinaryRow& row, Bits op>
struct Bitwise : Meta {
  bool accepts(const Tensor& /*self*/, const Tensor& /*other*/) {
    return this->common_dtype() == at::kBool ? readable(*this)
                                             : computes_bits(*this);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*other*/, const Tensor&) {
    if (this->common_dtype() == at::kBool) {
      mudnn::binary(Operands(*this, at::kBool), row);
    } else {
      binary_bits(*this, op);
    }
  }
};

template <class Meta, Bits op>
struct Shift : Meta {
  bool accepts(const Tensor& /*self*/, const Tensor& /*other*/) {
    return this->common_dtype() != at::kBool && computes_bits(*this);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*other*/, const Tensor&) {
    binary_bits(*this, op);
  }
};

struct BitwiseNot : at::meta::structured_bitwise_not {
  bool accepts(const Tensor& /*self*/) {
    return common_dtype() == at::kBool || computes_bits(*this);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*out*/) {
    if (common_dtype() == at::kBool) {
      mudnn::unary_to_bool(
          Operands(*this, at::kBool),
          UnaryMode::EQ,
          Number(int64_t{0}));
    } else {
      not_bits(*this);
    }
  }
};

using ShiftLeft =
    Shift<at::meta::structured_bitwise_left_shift_Tensor, Bits::kShiftLeft>;
using ShiftRight =
    Shift<at::meta::structured_bitwise_right_shift_Tensor, Bits::kShiftRight>;

// What Python's << and >> call, with a tensor or a number.
template <class Op>
struct PythonShift {
  static Tensor tensor(const Tensor& self, const Tensor& other) {
    return FormsOf<Op>::functional(self, other);
  }
  static Tensor scalar(const Tensor& self, const at::Scalar& other) {
    return tensor(self, at::native::wrapped_scalar_tensor(other));
  }
  static Tensor& tensor_inplace(Tensor& self, const Tensor& other) {
    return FormsOf<Op>::inplace(self, other);
  }
  static Tensor& scalar_inplace(Tensor& self, const at::Scalar& other) {
    return tensor_inplace(self, at::native::wrapped_scalar_tensor(other));
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  structured<Bitwise<meta::structured_bitwise_and_Tensor, kAnd, Bits::kAnd>>(
      r,
      "bitwise_and.Tensor",
      "bitwise_and_.Tensor",
      "bitwise_and.Tensor_out");
  structured<Bitwise<meta::structured_bitwise_or_Tensor, kOr, Bits::kOr>>(
      r,
      "bitwise_or.Tensor",
      "bitwise_or_.Tensor",
      "bitwise_or.Tensor_out");
  structured<Bitwise<meta::structured_bitwise_xor_Tensor, kXor, Bits::kXor>>(
      r,
      "bitwise_xor.Tensor",
      "bitwise_xor_.Tensor",
      "bitwise_xor.Tensor_out");
  structured<BitwiseNot>(r, "bitwise_not", "bitwise_not_", "bitwise_not.out");
  structured<ShiftLeft>(
      r,
      "bitwise_left_shift.Tensor",
      "bitwise_left_shift_.Tensor",
      "bitwise_left_shift.Tensor_out");
  structured<ShiftRight>(
      r,
      "bitwise_right_shift.Tensor",
      "bitwise_right_shift_.Tensor",
      "bitwise_right_shift.Tensor_out");
  using Left = PythonShift<ShiftLeft>;
  r.native<&Left::tensor>("__lshift__.Tensor");
  r.native<&Left::scalar>("__lshift__.Scalar");
  r.native<&Left::tensor_inplace>("__ilshift__.Tensor");
  r.native<&Left::scalar_inplace>("__ilshift__.Scalar");
  using Right = PythonShift<ShiftRight>;
  r.native<&Right::tensor>("__rshift__.Tensor");
  r.native<&Right::scalar>("__rshift__.Scalar");
  r.native<&Right::tensor_inplace>("__irshift__.Tensor");
  r.native<&Right::scalar_inplace>("__irshift__.Scalar");
}

} // namespace

} // namespace torch_fl::ops
