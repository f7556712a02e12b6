// SPDX-License-Identifier: Apache-2.0
// Comparisons and logic.
#include "csrc/ops/complex.h"
#include "csrc/ops/elementwise.h"

#include <ATen/ops/eq_meta.h>
#include <ATen/ops/ge_meta.h>
#include <ATen/ops/gt_meta.h>
#include <ATen/ops/le_meta.h>
#include <ATen/ops/lt_meta.h>
#include <ATen/ops/ne_meta.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::BinaryMode;
using mudnn::BinaryRow;
using mudnn::Number;
using mudnn::Operands;
using mudnn::UnaryMode;

constexpr BinaryRow test_row(BinaryMode both, UnaryMode right, UnaryMode left) {
  return {both, right, left, true, true, true};
}

// A number on the left turns the comparison round.
constexpr BinaryRow kEq =
    test_row(BinaryMode::EQ, UnaryMode::EQ, UnaryMode::EQ);
constexpr BinaryRow kNe =
    test_row(BinaryMode::NE, UnaryMode::NE, UnaryMode::NE);
constexpr BinaryRow kLt =
    test_row(BinaryMode::LT, UnaryMode::LT, UnaryMode::GT);
constexpr BinaryRow kLe =
    test_row(BinaryMode::LE, UnaryMode::LE, UnaryMode::GE);
constexpr BinaryRow kGt =
    test_row(BinaryMode::GT, UnaryMode::GT, UnaryMode::LT);
constexpr BinaryRow kGe =
    test_row(BinaryMode::GE, UnaryMode::GE, UnaryMode::LE);
constexpr BinaryRow kAnd = test_row(
    BinaryMode::LOGICAL_AND,
    UnaryMode::LOGICAL_AND,
    UnaryMode::LOGICAL_AND);
constexpr BinaryRow kOr = test_row(
    BinaryMode::LOGICAL_OR,
    UnaryMode::LOGICAL_OR,
    UnaryMode::LOGICAL_OR);
constexpr BinaryRow kXor = test_row(
    BinaryMode::LOGICAL_XOR,
    UnaryMode::LOGICAL_XOR,
    UnaryMode::LOGICAL_XOR);

template <class Meta, const BinaryRow& row>
struct Compare : Meta {
  static bool quick(at::ScalarType type) { return mudnn::has_dnn_type(type); }
  static at::ScalarType quick_result(at::ScalarType /*type*/) {
    return at::kBool;
  }
  static void kernel(const Operands& v) { mudnn::binary(v, row); }
  bool accepts(const Tensor& /*self*/, const Tensor& /*other*/) {
    return mudnn::has_dnn_type(this->common_dtype()) && readable(*this);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*other*/, const Tensor&) {
    kernel(Operands(*this, this->common_dtype()));
  }
};

template <class Meta, const BinaryRow& row>
struct CompareNumber : Meta {
  static bool quick(at::ScalarType type, const at::Scalar& other) {
    return plain_float(type) && !other.isComplex();
  }
  static at::ScalarType quick_result(at::ScalarType /*type*/) {
    return at::kBool;
  }
  static void kernel(const Operands& v, const at::Scalar& other) {
    mudnn::unary_to_bool(v, row.number_right, Number(other));
  }
  bool accepts(const Tensor& /*self*/, const at::Scalar& other) {
    return mudnn::has_dnn_type(this->common_dtype()) && readable(*this) &&
        !other.isComplex();
  }
  void
  impl(const Tensor& /*self*/, const at::Scalar& /*other*/, const Tensor&) {
    mudnn::binary(Operands(*this, this->common_dtype()), row);
  }
};

// Truth values of any dtype: whatever is not 0 is true.
template <const BinaryRow& row>
struct Logical : ComparisonMeta {
  bool accepts(const Tensor& /*self*/, const Tensor& /*other*/) {
    return readable(*this);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*other*/, const Tensor&) {
    mudnn::binary(Operands(*this, at::kBool), row);
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  structured<
      WithComplex<Compare<meta::structured_eq_Tensor, kEq>, ComplexTo::kEqual>>(
      r,
      "eq.Tensor",
      "eq_.Tensor",
      "eq.Tensor_out");
  structured<WithComplex<
      Compare<meta::structured_ne_Tensor, kNe>,
      ComplexTo::kNotEqual>>(r, "ne.Tensor", "ne_.Tensor", "ne.Tensor_out");
  structured<Compare<meta::structured_lt_Tensor, kLt>>(
      r,
      "lt.Tensor",
      "lt_.Tensor",
      "lt.Tensor_out");
  structured<Compare<meta::structured_le_Tensor, kLe>>(
      r,
      "le.Tensor",
      "le_.Tensor",
      "le.Tensor_out");
  structured<Compare<meta::structured_gt_Tensor, kGt>>(
      r,
      "gt.Tensor",
      "gt_.Tensor",
      "gt.Tensor_out");
  structured<Compare<meta::structured_ge_Tensor, kGe>>(
      r,
      "ge.Tensor",
      "ge_.Tensor",
      "ge.Tensor_out");
  structured<WithComplexNumber<
      CompareNumber<meta::structured_eq_Scalar, kEq>,
      ComplexTo::kEqual>>(r, "eq.Scalar", "eq_.Scalar", "eq.Scalar_out");
  structured<WithComplexNumber<
      CompareNumber<meta::structured_ne_Scalar, kNe>,
      ComplexTo::kNotEqual>>(r, "ne.Scalar", "ne_.Scalar", "ne.Scalar_out");
  structured<CompareNumber<meta::structured_lt_Scalar, kLt>>(
      r,
      "lt.Scalar",
      "lt_.Scalar",
      "lt.Scalar_out");
  structured<CompareNumber<meta::structured_le_Scalar, kLe>>(
      r,
      "le.Scalar",
      "le_.Scalar",
      "le.Scalar_out");
  structured<CompareNumber<meta::structured_gt_Scalar, kGt>>(
      r,
      "gt.Scalar",
      "gt_.Scalar",
      "gt.Scalar_out");
  structured<CompareNumber<meta::structured_ge_Scalar, kGe>>(
      r,
      "ge.Scalar",
      "ge_.Scalar",
      "ge.Scalar_out");
  structured<Logical<kAnd>>(
      r,
      "logical_and",
      "logical_and_",
      "logical_and.out");
  structured<Logical<kOr>>(r, "logical_or", "logical_or_", "logical_or.out");
  structured<Logical<kXor>>(
      r,
      "logical_xor",
      "logical_xor_",
      "logical_xor.out");
}

} // namespace

} // namespace torch_fl::ops
