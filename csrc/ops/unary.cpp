// SPDX-License-Identifier: Apache-2.0
// Operators of one tensor, and the backward of activations.
#include "csrc/ops/complex.h"
#include "csrc/ops/elementwise.h"
#include "csrc/ops/fused.h"

#include <ATen/ops/acos_meta.h>
#include <ATen/ops/atan_meta.h>
#include <ATen/ops/ceil_meta.h>
#include <ATen/ops/cos_meta.h>
#include <ATen/ops/erf_meta.h>
#include <ATen/ops/exp_meta.h>
#include <ATen/ops/expm1_meta.h>
#include <ATen/ops/floor_meta.h>
#include <ATen/ops/gelu_backward_meta.h>
#include <ATen/ops/gelu_meta.h>
#include <ATen/ops/isneginf_meta.h>
#include <ATen/ops/isposinf_meta.h>
#include <ATen/ops/leaky_relu_backward_meta.h>
#include <ATen/ops/leaky_relu_meta.h>
#include <ATen/ops/log10_meta.h>
#include <ATen/ops/log1p_meta.h>
#include <ATen/ops/log2_meta.h>
#include <ATen/ops/log_meta.h>
#include <ATen/ops/neg_meta.h>
#include <ATen/ops/reciprocal_meta.h>
#include <ATen/ops/round_meta.h>
#include <ATen/ops/rsqrt_meta.h>
#include <ATen/ops/sgn_meta.h>
#include <ATen/ops/sigmoid_backward_meta.h>
#include <ATen/ops/sigmoid_meta.h>
#include <ATen/ops/sign_meta.h>
#include <ATen/ops/silu_backward_meta.h>
#include <ATen/ops/silu_meta.h>
#include <ATen/ops/sin_meta.h>
#include <ATen/ops/sqrt_meta.h>
#include <ATen/ops/tan_meta.h>
#include <ATen/ops/tanh_backward_meta.h>
#include <ATen/ops/tanh_meta.h>
#include <ATen/ops/threshold_backward_meta.h>
#include <ATen/ops/trunc_meta.h>

#include <limits>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::BinaryMode;
using mudnn::Number;
using mudnn::Operands;
using mudnn::UnaryMode;

// A muDNN mode on what meta makes of the dtype.
template <class Meta, UnaryMode mode>
struct Plain : Meta {
  static bool quick(at::ScalarType type) { return plain_float(type); }
  static void kernel(const Operands& v) { mudnn::unary(v, mode); }
  bool accepts(const Tensor& /*self*/) { return computes(*this); }
  void impl(const Tensor& /*self*/, const Tensor& /*out*/) {
    kernel(Operands(*this, this->common_dtype()));
  }
};

// Floors, ceilings and the like leave integers alone.
template <class Meta, UnaryMode mode>
struct Rounding : Plain<Meta, mode> {
  static void kernel(const Operands& v) {
    if (c10::isIntegralType(v.compute, /*includeBool=*/true)) {
      mudnn::unary(v, UnaryMode::IDENTITY);
    } else if constexpr (mode == UnaryMode::TRUNCATEDIV) {
      // No TRUNC mode: dividing by one and truncating is the same.
      mudnn::unary(v, mode, Number(int64_t{1}));
    } else {
      mudnn::unary(v, mode);
    }
  }
  void impl(const Tensor& /*self*/, const Tensor& /*out*/) {
    kernel(Operands(*this, this->common_dtype()));
  }
};

// No NEG mode.
struct Neg : at::meta::structured_neg {
  static bool quick(at::ScalarType type) { return arithmetic(type); }
  static void kernel(const Operands& v) {
    mudnn::unary(v, UnaryMode::MUL, Number(int64_t{-1}));
  }
  bool accepts(const Tensor& /*self*/) { return computes(*this); }
  void impl(const Tensor& /*self*/, const Tensor& /*out*/) {
    kernel(Operands(*this, common_dtype()));
  }
};

// No EXPM1 mode.
struct Expm1 : at::meta::structured_expm1 {
  bool accepts(const Tensor& /*self*/) { return computes(*this); }
  void impl(const Tensor& /*self*/, const Tensor& /*out*/) {
    if (fuses(*this, common_dtype())) {
      fuse(*this, common_dtype(), Fused::kExpm1);
    } else {
      mudnn::expm1(Operands(*this, common_dtype()));
    }
  }
};

struct Relu : SameTypeMeta {
  static bool quick(at::ScalarType type) { return arithmetic(type); }
  static void kernel(const Operands& v) { mudnn::unary(v, UnaryMode::RELU); }
  void meta(const Tensor& self) {
    TORCH_CHECK(
        self.scalar_type() != at::kBool,
        "Boolean inputs not supported for relu");
    SameTypeMeta::meta(self);
  }
  bool accepts(const Tensor& /*self*/) { return computes(*this); }
  void impl(const Tensor& /*self*/, const Tensor& /*out*/) {
    kernel(Operands(*this, common_dtype()));
  }
};

struct Gelu : at::meta::structured_gelu {
  static bool quick(at::ScalarType type, c10::string_view /*approximate*/) {
    return plain_float(type);
  }
  static void kernel(const Operands& v, c10::string_view approximate) {
    TORCH_CHECK(
        approximate == "none" || approximate == "tanh",
        "approximate argument must be either none or tanh.");
    mudnn::unary(
        v,
        approximate == "tanh" ? UnaryMode::GELU_TANH : UnaryMode::GELU);
  }
  bool accepts(const Tensor& /*self*/, c10::string_view /*approximate*/) {
    return plain_float(common_dtype()) && readable(*this);
  }
  void impl(
      const Tensor& /*self*/,
      c10::string_view approximate,
      const Tensor& /*out*/) {
    kernel(Operands(*this, common_dtype()), approximate);
  }
};

struct LeakyRelu : at::meta::structured_leaky_relu {
  static bool quick(at::ScalarType type, const at::Scalar& slope) {
    return plain_float(type) && !slope.isComplex();
  }
  static void kernel(const Operands& v, const at::Scalar& slope) {
    mudnn::unary(v, UnaryMode::LEAKY_RELU, Number(slope));
  }
  bool accepts(const Tensor& /*self*/, const at::Scalar& slope) {
    return quick(common_dtype(), slope) && readable(*this);
  }
  void
  impl(const Tensor& /*self*/, const at::Scalar& slope, const Tensor& /*out*/) {
    kernel(Operands(*this, common_dtype()), slope);
  }
};

// A gradient from (gradient, output or input), in that order: the wrong one
// returns SUCCESS and wrong numbers (quirk 21).
template <class Meta, BinaryMode mode>
struct Backward : Meta {
  static constexpr bool kTakesNumbers = false;
  static bool quick(at::ScalarType type) { return plain_float(type); }
  static void kernel(const Operands& v) {
    mudnn::binary_ordered(v, 1, 2, mode);
  }
  bool accepts(const Tensor& /*grad*/, const Tensor& /*saved*/) {
    return plain_float(this->common_dtype()) && readable(*this) &&
        !this->is_cpu_scalar(1) && !this->is_cpu_scalar(2);
  }
  void
  impl(const Tensor& /*grad*/, const Tensor& /*saved*/, const Tensor& /*out*/) {
    kernel(Operands(*this, this->common_dtype()));
  }
};

struct GeluBackward : at::meta::structured_gelu_backward {
  static constexpr bool kTakesNumbers = false;
  static bool quick(at::ScalarType type, c10::string_view /*approximate*/) {
    return plain_float(type);
  }
  static void kernel(const Operands& v, c10::string_view approximate) {
    mudnn::binary_ordered(
        v,
        1,
        2,
        approximate == "tanh" ? BinaryMode::GELU_TANH_BW
                              : BinaryMode::GELU_NONE_BW);
  }
  bool accepts(
      const Tensor& /*grad*/,
      const Tensor& /*self*/,
      c10::string_view /*approximate*/) {
    return plain_float(common_dtype()) && readable(*this) &&
        !is_cpu_scalar(1) && !is_cpu_scalar(2);
  }
  void impl(
      const Tensor& /*grad*/,
      const Tensor& /*self*/,
      c10::string_view approximate,
      const Tensor& /*out*/) {
    kernel(Operands(*this, common_dtype()), approximate);
  }
};

// Arguments (gradient, input, threshold); the iterator holds the input first.
struct ThresholdBackward : at::meta::structured_threshold_backward {
  static constexpr bool kTakesNumbers = false;
  static bool quick(at::ScalarType type, const at::Scalar& threshold) {
    return factor_ok(type, threshold) && arithmetic(type);
  }
  static void kernel(const Operands& v, const at::Scalar& threshold) {
    mudnn::binary_ordered(v, 1, 2, BinaryMode::THRESHOLD_BW, Number(threshold));
  }
  bool accepts(
      const Tensor& /*grad*/,
      const Tensor& /*self*/,
      const at::Scalar& threshold) {
    return computes(*this) && !threshold.isComplex() && !is_cpu_scalar(1) &&
        !is_cpu_scalar(2);
  }
  void impl(
      const Tensor& /*grad*/,
      const Tensor& /*self*/,
      const at::Scalar& threshold,
      const Tensor& /*out*/) {
    mudnn::binary_ordered(
        Operands(*this, common_dtype()),
        2,
        1,
        BinaryMode::THRESHOLD_BW,
        Number(threshold));
  }
};

struct LeakyReluBackward : at::meta::structured_leaky_relu_backward {
  bool accepts(
      const Tensor& /*grad*/,
      const Tensor& /*self*/,
      const at::Scalar& slope,
      bool /*self_is_result*/) {
    return plain_float(common_dtype()) && readable(*this) &&
        !slope.isComplex() && !is_cpu_scalar(1) && !is_cpu_scalar(2);
  }
  // The iterator holds the input first.
  void impl(
      const Tensor& /*grad*/,
      const Tensor& /*self*/,
      const at::Scalar& slope,
      bool /*self_is_result*/,
      const Tensor& /*out*/) {
    mudnn::binary_ordered(
        Operands(*this, common_dtype()),
        2,
        1,
        BinaryMode::LEAKY_RELU_BW,
        Number(slope));
  }
};

struct IsNan : TestMeta {
  bool accepts(const Tensor& self) {
    return computes_complex(*this, self.scalar_type()) ||
        (plain_float(common_dtype()) && readable(*this));
  }
  void impl(const Tensor& self, const Tensor& out) {
    if (self.is_complex()) {
      // Not a number, in either part, is not equal to itself.
      at::TensorIterator twice = at::TensorIteratorConfig()
                                     .set_check_mem_overlap(false)
                                     .check_all_same_dtype(false)
                                     .resize_outputs(false)
                                     .add_owned_output(out)
                                     .add_owned_const_input(self)
                                     .add_owned_const_input(self)
                                     .build();
      compute_complex(twice, self.scalar_type(), ComplexTo::kNotEqual);
    } else {
      mudnn::unary_to_bool(Operands(*this, common_dtype()), UnaryMode::IS_NAN);
    }
  }
};

// An infinity of one sign: equal to it.
template <class Meta, int sign>
struct IsSignedInf : Meta {
  bool accepts(const Tensor& /*self*/) {
    return mudnn::has_dnn_type(this->dtype(1)) && readable(*this);
  }
  void impl(const Tensor& self, const Tensor& out) {
    if (!self.is_floating_point()) {
      mudnn::fill(out, Number(int64_t{0}));
      return;
    }
    mudnn::unary_to_bool(
        Operands(*this, this->dtype(1)),
        UnaryMode::EQ,
        Number(sign * std::numeric_limits<double>::infinity()));
  }
};

struct LogicalNot : TestMeta {
  bool accepts(const Tensor& /*self*/) {
    return mudnn::has_dnn_type(dtype(1)) && readable(*this);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*out*/) {
    mudnn::unary_to_bool(
        Operands(*this, dtype(1)),
        UnaryMode::EQ,
        Number(int64_t{0}));
  }
};

// A complex number's absolute value is real.
struct AbsMeta : at::TensorIteratorBase {
  void meta(const Tensor& self) {
    const Tensor& out = maybe_get_output(0);
    if (!self.is_complex()) {
      build_borrowing_unary_op(out, self);
      return;
    }
    TORCH_CHECK(
        !out.is_same(self),
        "In-place abs is not supported for complex tensors.");
    at::TensorIteratorConfig config;
    config.check_all_same_dtype(false);
    if (!out.defined()) {
      config.declare_static_dtype(c10::toRealValueType(self.scalar_type()));
    }
    build(config.add_borrowed_output(out).add_borrowed_const_input(self));
  }
};

struct Abs : Plain<AbsMeta, UnaryMode::ABS> {
  bool accepts(const Tensor& self) {
    return self.is_complex() ? computes_complex(*this, self.scalar_type())
                             : computes(*this);
  }
  void impl(const Tensor& self, const Tensor& /*out*/) {
    if (self.is_complex()) {
      compute_complex(*this, self.scalar_type(), ComplexTo::kAbs);
    } else {
      kernel(Operands(*this, common_dtype()));
    }
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  using M = UnaryMode;
  structured<Plain<meta::structured_sqrt, M::SQRT>>(
      r,
      "sqrt",
      "sqrt_",
      "sqrt.out");
  structured<Plain<meta::structured_rsqrt, M::RSQRT>>(
      r,
      "rsqrt",
      "rsqrt_",
      "rsqrt.out");
  structured<Plain<meta::structured_exp, M::EXP>>(r, "exp", "exp_", "exp.out");
  structured<Plain<meta::structured_log, M::LOG>>(r, "log", "log_", "log.out");
  structured<Plain<meta::structured_log2, M::LOG2>>(
      r,
      "log2",
      "log2_",
      "log2.out");
  structured<Plain<meta::structured_log10, M::LOG10>>(
      r,
      "log10",
      "log10_",
      "log10.out");
  structured<Plain<meta::structured_log1p, M::LOG1P>>(
      r,
      "log1p",
      "log1p_",
      "log1p.out");
  structured<Plain<meta::structured_sin, M::SIN>>(r, "sin", "sin_", "sin.out");
  structured<Plain<meta::structured_cos, M::COS>>(r, "cos", "cos_", "cos.out");
  structured<Plain<meta::structured_tan, M::TAN>>(r, "tan", "tan_", "tan.out");
  structured<Plain<meta::structured_acos, M::ACOS>>(
      r,
      "acos",
      "acos_",
      "acos.out");
  structured<Plain<meta::structured_atan, M::ATAN>>(
      r,
      "atan",
      "atan_",
      "atan.out");
  structured<Plain<meta::structured_tanh, M::TANH>>(
      r,
      "tanh",
      "tanh_",
      "tanh.out");
  structured<Plain<meta::structured_sigmoid, M::SIGMOID>>(
      r,
      "sigmoid",
      "sigmoid_",
      "sigmoid.out");
  structured<Plain<meta::structured_silu, M::SILU>>(
      r,
      "silu",
      "silu_",
      "silu.out");
  structured<Plain<meta::structured_erf, M::ERF>>(r, "erf", "erf_", "erf.out");
  structured<WithComplexOne<
      Plain<meta::structured_reciprocal, M::RECIPROCAL>,
      ComplexOp::kReciprocal>>(
      r,
      "reciprocal",
      "reciprocal_",
      "reciprocal.out");
  structured<Plain<meta::structured_sign, M::SIGN>>(
      r,
      "sign",
      "sign_",
      "sign.out");
  structured<
      WithComplexOne<Plain<meta::structured_sgn, M::SIGN>, ComplexOp::kSgn>>(
      r,
      "sgn",
      "sgn_",
      "sgn.out");
  structured<Rounding<meta::structured_floor, M::FLOOR>>(
      r,
      "floor",
      "floor_",
      "floor.out");
  structured<Rounding<meta::structured_ceil, M::CEIL>>(
      r,
      "ceil",
      "ceil_",
      "ceil.out");
  structured<Rounding<meta::structured_round, M::ROUND>>(
      r,
      "round",
      "round_",
      "round.out");
  structured<Rounding<meta::structured_trunc, M::TRUNCATEDIV>>(
      r,
      "trunc",
      "trunc_",
      "trunc.out");
  structured<WithComplexOne<Neg, ComplexOp::kNeg>>(r, "neg", "neg_", "neg.out");
  structured<Expm1>(r, "expm1", "expm1_", "expm1.out");
  structured<Abs>(r, "abs", "abs_", "abs.out");
  structured<Relu>(r, "relu", "relu_", "relu.out");
  structured<Gelu>(r, "gelu", "gelu_", "gelu.out");
  structured<LeakyRelu>(r, "leaky_relu", "leaky_relu_", "leaky_relu.out");
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  using B = BinaryMode;
  structured<Backward<meta::structured_sigmoid_backward, B::SIGMOID_BW>>(
      r,
      "sigmoid_backward",
      nullptr,
      "sigmoid_backward.grad_input");
  structured<Backward<meta::structured_tanh_backward, B::TANH_BW>>(
      r,
      "tanh_backward",
      nullptr,
      "tanh_backward.grad_input");
  structured<Backward<meta::structured_silu_backward, B::SILU_BW>>(
      r,
      "silu_backward",
      nullptr,
      "silu_backward.grad_input");
  structured<GeluBackward>(
      r,
      "gelu_backward",
      nullptr,
      "gelu_backward.grad_input");
  structured<ThresholdBackward>(
      r,
      "threshold_backward",
      nullptr,
      "threshold_backward.grad_input");
  structured<LeakyReluBackward>(
      r,
      "leaky_relu_backward",
      nullptr,
      "leaky_relu_backward.grad_input");
  structured<IsNan>(r, "isnan", nullptr, "isnan.out");
  structured<IsSignedInf<meta::structured_isneginf, -1>>(
      r,
      "isneginf",
      nullptr,
      "isneginf.out");
  structured<IsSignedInf<meta::structured_isposinf, 1>>(
      r,
      "isposinf",
      nullptr,
      "isposinf.out");
  structured<LogicalNot>(r, "logical_not", "logical_not_", "logical_not.out");
}

} // namespace

} // namespace torch_fl::ops
