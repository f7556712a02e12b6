// SPDX-License-Identifier: Apache-2.0
// Arithmetic of two tensors, or a tensor and a number.
#include "csrc/ops/complex.h"
#include "csrc/ops/elementwise.h"
#include "csrc/ops/fused.h"

#include <ATen/ScalarOps.h>
#include <ATen/ops/add_meta.h>
#include <ATen/ops/div_meta.h>
#include <ATen/ops/fmod_meta.h>
#include <ATen/ops/maximum_meta.h>
#include <ATen/ops/minimum_meta.h>
#include <ATen/ops/mul_meta.h>
#include <ATen/ops/pow_meta.h>
#include <ATen/ops/pow_native.h>
#include <ATen/ops/remainder_meta.h>
#include <ATen/ops/sub_meta.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::BinaryMode;
using mudnn::BinaryRow;
using mudnn::Number;
using mudnn::Operands;
using mudnn::UnaryMode;

constexpr BinaryRow kAdd{BinaryMode::ADD, UnaryMode::ADD, UnaryMode::ADD};
constexpr BinaryRow kMul{BinaryMode::MUL, UnaryMode::MUL, UnaryMode::MUL};
constexpr BinaryRow kDiv{
    BinaryMode::TRUEDIV,
    UnaryMode::TRUEDIV,
    UnaryMode::TRUEDIV_BY_ALPHA};
constexpr BinaryRow kFloorDiv{
    BinaryMode::FLOORDIV,
    UnaryMode::FLOORDIV,
    UnaryMode::FLOORDIV_BY_ALPHA};
// No mode has the number on the left.
constexpr BinaryRow kFmod{
    BinaryMode::TRUNCATEMOD,
    UnaryMode::TRUNCATEMOD,
    UnaryMode::TRUNCATEMOD,
    true,
    false};
constexpr BinaryRow kRemainder{
    BinaryMode::FLOORMOD,
    UnaryMode::FLOORMOD,
    UnaryMode::FLOORMOD,
    true,
    false};
constexpr BinaryRow
    kPow{BinaryMode::POW, UnaryMode::POW, UnaryMode::POW, true, false};
constexpr BinaryRow kMax{BinaryMode::MAX, UnaryMode::MAX, UnaryMode::MAX};
constexpr BinaryRow kMin{BinaryMode::MIN, UnaryMode::MIN, UnaryMode::MIN};
constexpr BinaryRow kOr{
    BinaryMode::LOGICAL_OR,
    UnaryMode::LOGICAL_OR,
    UnaryMode::LOGICAL_OR};
constexpr BinaryRow kAnd{
    BinaryMode::LOGICAL_AND,
    UnaryMode::LOGICAL_AND,
    UnaryMode::LOGICAL_AND};

// alpha * number, exact in both kinds; integers wrap as torch's do.
Number scaled(const Number& number, const Number& alpha) {
  Number product;
  product.real = number.real * alpha.real;
  product.integer = static_cast<int64_t>(
      static_cast<uint64_t>(number.integer) *
      static_cast<uint64_t>(alpha.integer));
  return product;
}

// self + alpha * other, or self - alpha * other.
template <bool subtract>
void add_scaled(const Operands& v, const Number& alpha) {
  using M = UnaryMode;
  using B = BinaryMode;
  const bool plain = alpha.real == 1;
  if (v.scalar_at == 2) {
    Operands with = v;
    with.scalar = scaled(v.scalar, alpha);
    mudnn::binary(with, {B::ADD, subtract ? M::SUB : M::ADD, M::ADD});
    return;
  }
  BinaryRow row{
      subtract ? B::SUB : B::ADD,
      M::ADD,
      subtract ? M::SUB_BY_ALPHA : M::ADD};
  if (!plain) {
    row.both = subtract ? B::SUB_ALPHA : B::ADD_ALPHA;
    row.folds_left = false;
  }
  mudnn::binary(v, row, alpha);
}

template <class Meta, bool subtract>
struct AddLike : Meta {
  static bool quick(at::ScalarType type, const at::Scalar& alpha) {
    return arithmetic(type) && factor_ok(type, alpha);
  }
  static void kernel(const Operands& v, const at::Scalar& alpha) {
    add_scaled<subtract>(v, Number(alpha));
  }
  bool accepts(
      const Tensor& /*self*/,
      const Tensor& /*other*/,
      const at::Scalar& alpha) {
    // BOOL + BOOL is OR; torch refuses BOOL - BOOL in meta.
    const bool logic =
        this->common_dtype() == at::kBool && !subtract && alpha.toBool();
    return computes_complex(*this, this->common_dtype()) ||
        (!alpha.isComplex() && (computes(*this) || (logic && readable(*this))));
  }
  void impl(
      const Tensor& /*self*/,
      const Tensor& /*other*/,
      const at::Scalar& alpha,
      const Tensor& /*out*/) {
    if (c10::isComplexType(this->common_dtype())) {
      compute_complex(
          *this,
          this->common_dtype(),
          subtract ? ComplexOp::kSub : ComplexOp::kAdd,
          alpha);
      return;
    }
    const Operands v(*this, this->common_dtype());
    if (v.compute == at::kBool) {
      mudnn::binary(v, kOr);
    } else {
      kernel(v, alpha);
    }
  }
};
using Add = AddLike<at::meta::structured_add_Tensor, false>;
using Sub = AddLike<at::meta::structured_sub_Tensor, true>;

// One row; another where everything is BOOL, if there is one.
template <class Meta, const BinaryRow& row, const BinaryRow* logic = nullptr>
struct ByRow : Meta {
  static bool quick(at::ScalarType type) { return arithmetic(type); }
  static void kernel(const Operands& v) { mudnn::binary(v, row); }
  bool accepts(const Tensor& /*self*/, const Tensor& /*other*/) {
    return computes(*this) ||
        (logic != nullptr && this->common_dtype() == at::kBool &&
         readable(*this));
  }
  void impl(const Tensor& /*self*/, const Tensor& /*other*/, const Tensor&) {
    const Operands v(*this, this->common_dtype());
    mudnn::binary(v, v.compute == at::kBool && logic != nullptr ? *logic : row);
  }
};

// Integers promote to float in meta: no quick road for them.
struct Div : ByRow<at::meta::structured_div_Tensor, kDiv> {
  static bool quick(at::ScalarType type) { return plain_float(type); }
};

// An integer divided by a known zero raises on the CPU. By a zero inside a
// tensor it cannot without waiting for the device.
void check_divisor(const Operands& v) {
  TORCH_CHECK(
      v.scalar_at != 2 || v.scalar.integer != 0 ||
          !c10::isIntegralType(v.compute, /*includeBool=*/true),
      "ZeroDivisionError");
}

struct DivMode : at::meta::structured_div_Tensor_mode {
  using Rounding = std::optional<c10::string_view>;

  bool accepts(const Tensor&, const Tensor&, const Rounding& /*rounding*/) {
    return computes(*this);
  }
  void impl(
      const Tensor& /*self*/,
      const Tensor& /*other*/,
      const Rounding& rounding,
      const Tensor& /*out*/) {
    const Operands v(*this, common_dtype());
    if (!rounding.has_value()) {
      mudnn::binary(v, kDiv);
      return;
    }
    check_divisor(v);
    if (*rounding == "floor") {
      mudnn::binary(v, kFloorDiv);
    } else {
      mudnn::truncated_div(v);
    }
  }
};

template <class Meta, const BinaryRow& row>
struct Modular : ByRow<Meta, row> {
  static void kernel(const Operands& v) {
    check_divisor(v);
    mudnn::binary(v, row);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*other*/, const Tensor&) {
    kernel(Operands(*this, this->common_dtype()));
  }
};
using FloorDivide = Modular<BinaryMeta, kFloorDiv>;
using Fmod = Modular<at::meta::structured_fmod_Tensor, kFmod>;
using Remainder = Modular<at::meta::structured_remainder_Tensor, kRemainder>;

struct Pow : ByRow<at::meta::structured_pow_Tensor_Tensor, kPow> {
  static bool quick(at::ScalarType type) { return plain_float(type); }
  // Integer to the power of an integer is not supported (quirk 13).
  bool accepts(const Tensor& /*self*/, const Tensor& /*exponent*/) {
    const at::ScalarType type = common_dtype();
    return plain_float(type) ? readable(*this) : fuses(*this, type);
  }
  void impl(const Tensor& self, const Tensor& exponent, const Tensor& out) {
    if (plain_float(common_dtype())) {
      ByRow::impl(self, exponent, out);
    } else {
      fuse(*this, common_dtype(), Fused::kPower);
    }
  }
};

// The exponents with a mode of their own, as on the CPU.
void power(const Operands& v, const at::Scalar& exponent) {
  const double e = exponent.toDouble();
  if (e == 2) {
    mudnn::unary(v, UnaryMode::SQUARE);
  } else if (e == 0.5) {
    mudnn::unary(v, UnaryMode::SQRT);
  } else if (e == -0.5) {
    mudnn::unary(v, UnaryMode::RSQRT);
  } else if (e == -1) {
    mudnn::unary(v, UnaryMode::RECIPROCAL);
  } else if (e == 1) {
    mudnn::unary(v, UnaryMode::IDENTITY);
  } else {
    mudnn::unary(v, UnaryMode::POW, Number(exponent));
  }
}

struct PowScalar : at::meta::structured_pow_Tensor_Scalar {
  static bool quick(at::ScalarType type, const at::Scalar& exponent) {
    return plain_float(type) && !exponent.isComplex() &&
        exponent.toDouble() != 0;
  }
  static void kernel(const Operands& v, const at::Scalar& exponent) {
    power(v, exponent);
  }
  // Integers: the power mode is not exact for them (quirk 13).
  bool fused_here(const at::Scalar& exponent) {
    return !plain_float(common_dtype()) &&
        exponent.isIntegral(/*includeBool=*/false) && exponent.toLong() > 2 &&
        exponent.toLong() < 128 && fuses(*this, common_dtype());
  }
  bool accepts(const Tensor& /*self*/, const at::Scalar& exponent) {
    if (exponent.isComplex() || !computes(*this)) {
      return false;
    }
    const double e = exponent.toDouble();
    return plain_float(common_dtype()) || e == 0 || e == 1 || e == 2 ||
        fused_here(exponent);
  }
  void
  impl(const Tensor& /*self*/, const at::Scalar& exponent, const Tensor& out) {
    if (exponent.toDouble() == 0) {
      mudnn::fill(out, Number(int64_t{1}));
      return;
    }
    if (fused_here(exponent)) {
      fuse(*this, common_dtype(), Fused::kPowerNumber, exponent);
    } else {
      power(Operands(*this, common_dtype()), exponent);
    }
  }
};

Tensor rsub(const Tensor& self, const Tensor& other, const at::Scalar& alpha) {
  return FormsOf<Sub>::functional(other, self, alpha);
}

Tensor remainder_of_number(const at::Scalar& self, const Tensor& other) {
  return FormsOf<Remainder>::functional(
      at::native::wrapped_scalar_tensor(self),
      other);
}

using Mul = WithComplex<
    ByRow<at::meta::structured_mul_Tensor, kMul, &kAnd>,
    ComplexOp::kMul>;
using Maximum = ByRow<at::meta::structured_maximum, kMax, &kOr>;
using Minimum = ByRow<at::meta::structured_minimum, kMin, &kAnd>;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  structured<Add>(r, "add.Tensor", "add_.Tensor", "add.out");
  structured<Sub>(r, "sub.Tensor", "sub_.Tensor", "sub.out");
  structured<Mul>(r, "mul.Tensor", "mul_.Tensor", "mul.out");
  structured<WithComplex<Div, ComplexOp::kDiv>>(
      r,
      "div.Tensor",
      "div_.Tensor",
      "div.out");
  structured<DivMode>(r, "div.Tensor_mode", "div_.Tensor_mode", "div.out_mode");
  structured<FloorDivide>(
      r,
      "floor_divide",
      "floor_divide_.Tensor",
      "floor_divide.out");
  structured<Fmod>(r, "fmod.Tensor", "fmod_.Tensor", "fmod.Tensor_out");
  structured<Remainder>(
      r,
      "remainder.Tensor",
      "remainder_.Tensor",
      "remainder.Tensor_out");
  structured<Maximum>(r, "maximum", nullptr, "maximum.out");
  structured<Minimum>(r, "minimum", nullptr, "minimum.out");
  structured<Pow>(
      r,
      "pow.Tensor_Tensor",
      "pow_.Tensor",
      "pow.Tensor_Tensor_out");
  structured<PowScalar>(
      r,
      "pow.Tensor_Scalar",
      "pow_.Scalar",
      "pow.Tensor_Scalar_out");
  structured<at::native::structured_pow_Scalar_out>(
      r,
      "pow.Scalar",
      nullptr,
      "pow.Scalar_out");
  r.native<&rsub>("rsub.Tensor");
  r.native<&remainder_of_number>("remainder.Scalar_Tensor");
}

} // namespace

} // namespace torch_fl::ops
