// SPDX-License-Identifier: Apache-2.0
// Selection, clamping, and fused multiply-adds.
#include "csrc/ops/elementwise.h"
#include "csrc/ops/fused.h"

#include <ATen/ops/addcdiv_meta.h>
#include <ATen/ops/addcmul_meta.h>
#include <ATen/ops/clamp_max_meta.h>
#include <ATen/ops/clamp_meta.h>
#include <ATen/ops/clamp_min_meta.h>
#include <ATen/ops/full.h>
#include <ATen/ops/lerp_meta.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/view_as_real.h>

#include <cmath>
#include <limits>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::BinaryMode;
using mudnn::BinaryRow;
using mudnn::Number;
using mudnn::Operands;
using mudnn::TernaryMode;
using mudnn::UnaryMode;

using Call = void (*)(const Operands&, const Number&);

template <class Meta, Call call, Fused fused>
struct AddC : Meta {
  static bool quick(at::ScalarType type, const at::Scalar& value) {
    return plain_float(type) && !value.isComplex();
  }
  static void kernel(const Operands& v, const at::Scalar& value) {
    if (fuses_dense()) {
      fuse(v, fused, value);
    } else {
      call(v, Number(value));
    }
  }
  bool accepts(
      const Tensor& /*self*/,
      const Tensor& /*first*/,
      const Tensor& /*second*/,
      const at::Scalar& value) {
    return (fused_here() || computes(*this)) && !value.isComplex();
  }
  void impl(
      const Tensor& /*self*/,
      const Tensor& /*first*/,
      const Tensor& /*second*/,
      const at::Scalar& value,
      const Tensor& /*out*/) {
    if (fused_here()) {
      fuse(*this, this->common_dtype(), fused, value);
    } else {
      call(Operands(*this, this->common_dtype()), Number(value));
    }
  }

 private:
  // Integers are not divided by the kernel.
  bool fused_here() {
    const at::ScalarType type = this->common_dtype();
    return (fused == Fused::kAddcmul || plain_float(type)) &&
        fuses(*this, type);
  }
};
using Addcmul =
    AddC<at::meta::structured_addcmul, &mudnn::addcmul, Fused::kAddcmul>;
using Addcdiv =
    AddC<at::meta::structured_addcdiv, &mudnn::addcdiv, Fused::kAddcdiv>;

// No operand of lerp may be a number here: it needs each one twice.
bool no_numbers(at::TensorIteratorBase& iter) {
  for (int a = 1; a < iter.ntensors(); ++a) {
    if (iter.is_cpu_scalar(a)) {
      return false;
    }
  }
  return true;
}

struct LerpNumber : at::meta::structured_lerp_Scalar {
  static constexpr bool kTakesNumbers = false;
  static bool quick(at::ScalarType type, const at::Scalar& weight) {
    return plain_float(type) && !weight.isComplex();
  }
  static void kernel(const Operands& v, const at::Scalar& weight) {
    if (fuses_dense()) {
      fuse(v, Fused::kLerpNumber, weight);
    } else {
      mudnn::lerp(v, Number(weight));
    }
  }
  bool accepts(
      const Tensor& /*self*/,
      const Tensor& /*end*/,
      const at::Scalar& weight) {
    return plain_float(common_dtype()) && !weight.isComplex() &&
        (fuses(*this, common_dtype()) ||
         (readable(*this) && no_numbers(*this)));
  }
  void impl(
      const Tensor& /*self*/,
      const Tensor& /*end*/,
      const at::Scalar& weight,
      const Tensor& /*out*/) {
    if (fuses(*this, common_dtype())) {
      fuse(*this, common_dtype(), Fused::kLerpNumber, weight);
    } else {
      mudnn::lerp(Operands(*this, common_dtype()), Number(weight));
    }
  }
};

struct LerpTensor : at::meta::structured_lerp_Tensor {
  bool accepts(
      const Tensor& /*self*/,
      const Tensor& /*end*/,
      const Tensor& /*weight*/) {
    return plain_float(common_dtype()) &&
        (fuses(*this, common_dtype()) ||
         (readable(*this) && no_numbers(*this)));
  }
  void impl(
      const Tensor& /*self*/,
      const Tensor& /*end*/,
      const Tensor& /*weight*/,
      const Tensor& /*out*/) {
    if (fuses(*this, common_dtype())) {
      fuse(*this, common_dtype(), Fused::kLerpTensor);
    } else {
      mudnn::lerp_by_tensor(Operands(*this, common_dtype()));
    }
  }
};

// What an integer type can hold of a bound.
Number saturated(at::ScalarType type, const at::Scalar& bound) {
  if (!c10::isIntegralType(type, /*includeBool=*/false)) {
    return Number(bound);
  }
  const int bits = static_cast<int>(8 * c10::elementSize(type));
  const bool is_signed = type != at::kByte;
  const int64_t high =
      is_signed ? std::numeric_limits<int64_t>::max() >> (64 - bits) : 255;
  const int64_t low = is_signed ? -high - 1 : 0;
  return Number(std::min(std::max(bound.toLong(), low), high));
}

// A bound that is NaN makes everything NaN, as on the CPU.
bool is_nan(const at::Scalar& bound) {
  return bound.isFloatingPoint() && std::isnan(bound.toDouble());
}

// CLIP needs both of its bounds (quirk 9): one alone is MAX or MIN.
void clamp(
    const Operands& v,
    at::OptionalScalarRef low,
    at::OptionalScalarRef high) {
  if ((low.has_value() && is_nan(low.get())) ||
      (high.has_value() && is_nan(high.get()))) {
    mudnn::unary(
        v,
        UnaryMode::MUL,
        Number(std::numeric_limits<double>::quiet_NaN()));
  } else if (!high.has_value()) {
    mudnn::unary(v, UnaryMode::MAX, saturated(v.compute, low.get()));
  } else if (!low.has_value()) {
    mudnn::unary(v, UnaryMode::MIN, saturated(v.compute, high.get()));
  } else {
    mudnn::unary(
        v,
        UnaryMode::CLIP,
        saturated(v.compute, low.get()),
        saturated(v.compute, high.get()));
  }
}

struct Clamp : at::meta::structured_clamp {
  bool accepts(
      const Tensor& /*self*/,
      at::OptionalScalarRef /*low*/,
      at::OptionalScalarRef /*high*/) {
    return computes(*this);
  }
  void impl(
      const Tensor& /*self*/,
      at::OptionalScalarRef low,
      at::OptionalScalarRef high,
      const Tensor& /*out*/) {
    clamp(Operands(*this, common_dtype()), low, high);
  }
};

template <class Meta, bool low>
struct ClampOne : Meta {
  bool accepts(const Tensor& /*self*/, const at::Scalar& /*bound*/) {
    return computes(*this);
  }
  void
  impl(const Tensor& /*self*/, const at::Scalar& bound, const Tensor& /*out*/) {
    const Operands v(*this, this->common_dtype());
    const at::OptionalScalarRef given(bound);
    if (low) {
      clamp(v, given, {});
    } else {
      clamp(v, {}, given);
    }
  }
};

constexpr BinaryRow kMax{BinaryMode::MAX, UnaryMode::MAX, UnaryMode::MAX};
constexpr BinaryRow kMin{BinaryMode::MIN, UnaryMode::MIN, UnaryMode::MIN};

struct ClampTensor : at::meta::structured_clamp_Tensor {
  bool accepts(
      const Tensor& /*self*/,
      at::OptionalTensorRef /*low*/,
      at::OptionalTensorRef /*high*/) {
    return computes(*this);
  }
  void impl(
      const Tensor& /*self*/,
      at::OptionalTensorRef low,
      at::OptionalTensorRef high,
      const Tensor& /*out*/) {
    const Operands v(*this, common_dtype());
    if (low.has_value() && high.has_value()) {
      // One dtype for all three (quirk 16): elementwise.cpp sees to it.
      mudnn::ternary(v, TernaryMode::CLAMP);
    } else {
      mudnn::binary(v, low.has_value() ? kMax : kMin);
    }
  }
};

template <class Meta, const BinaryRow& row>
struct ClampOneTensor : Meta {
  bool accepts(const Tensor& /*self*/, const Tensor& /*bound*/) {
    return computes(*this);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*bound*/, const Tensor&) {
    mudnn::binary(Operands(*this, this->common_dtype()), row);
  }
};

struct Where : at::TensorIteratorBase {
  void meta(const Tensor& condition, const Tensor& self, const Tensor& other) {
    TORCH_CHECK(
        condition.scalar_type() == at::kBool ||
            condition.scalar_type() == at::kByte,
        "where expected condition to be a boolean tensor, but got a tensor "
        "with dtype ",
        condition.scalar_type());
    type_ = at::result_type(self, other);
    const Tensor& out = maybe_get_output(0);
    TORCH_CHECK(
        !out.defined() || out.scalar_type() == type_,
        "Expected out type to be ",
        type_,
        " but got ",
        out.defined() ? out.scalar_type() : type_);
    at::TensorIteratorConfig config;
    config.check_all_same_dtype(false);
    if (!out.defined()) {
      config.declare_static_dtype(type_);
    }
    build(config.allow_cpu_scalars(true)
              .add_borrowed_output(out)
              .add_borrowed_const_input(condition)
              .add_borrowed_const_input(self)
              .add_borrowed_const_input(other));
  }
  bool accepts(const Tensor&, const Tensor&, const Tensor&) {
    if (is_cpu_scalar(1) || dtype(1) != at::kBool) {
      return false;
    }
    return is_pair() ? ndim() < mudnn::Operands::kMaxRank
                     : mudnn::has_dnn_type(type_) && readable(*this);
  }
  void impl(
      const Tensor& condition,
      const Tensor& self,
      const Tensor& other,
      const Tensor& out) {
    if (!is_pair()) {
      mudnn::select(Operands(*this, type_));
      return;
    }
    // Both parts of a complex number are chosen alike.
    const auto parts = [&](const Tensor& t) {
      return at::view_as_real(
          t.device() == out.device() ? t.to(type_)
                                     : at::full({}, t.item(), out.options()));
    };
    at::TensorIterator iter =
        at::TensorIteratorConfig()
            .set_check_mem_overlap(false)
            .check_all_same_dtype(false)
            .resize_outputs(false)
            .add_owned_output(at::view_as_real(out))
            .add_owned_const_input(condition.unsqueeze(-1))
            .add_owned_const_input(parts(self))
            .add_owned_const_input(parts(other))
            .build();
    mudnn::select(Operands(iter, c10::toRealValueType(type_)));
  }

 private:
  bool is_pair() const {
    return type_ == at::kComplexFloat || type_ == at::kComplexDouble;
  }
  at::ScalarType type_ = at::kFloat;
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  structured<Addcmul>(r, "addcmul", "addcmul_", "addcmul.out");
  structured<Addcdiv>(r, "addcdiv", "addcdiv_", "addcdiv.out");
  structured<LerpNumber>(r, "lerp.Scalar", "lerp_.Scalar", "lerp.Scalar_out");
  structured<LerpTensor>(r, "lerp.Tensor", "lerp_.Tensor", "lerp.Tensor_out");
  structured<Clamp>(r, "clamp", "clamp_", "clamp.out");
  structured<ClampTensor>(
      r,
      "clamp.Tensor",
      "clamp_.Tensor",
      "clamp.Tensor_out");
  structured<ClampOne<meta::structured_clamp_min, true>>(
      r,
      "clamp_min",
      "clamp_min_",
      "clamp_min.out");
  structured<ClampOne<meta::structured_clamp_max, false>>(
      r,
      "clamp_max",
      "clamp_max_",
      "clamp_max.out");
  structured<ClampOneTensor<meta::structured_clamp_min_Tensor, kMax>>(
      r,
      "clamp_min.Tensor",
      "clamp_min_.Tensor",
      "clamp_min.Tensor_out");
  structured<ClampOneTensor<meta::structured_clamp_max_Tensor, kMin>>(
      r,
      "clamp_max.Tensor",
      "clamp_max_.Tensor",
      "clamp_max.Tensor_out");
  structured<Where>(r, "where.self", nullptr, "where.self_out");
}

} // namespace

} // namespace torch_fl::ops
