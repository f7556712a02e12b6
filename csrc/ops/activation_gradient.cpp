// SPDX-License-Identifier: Apache-2.0
// Gradients of activations on kernels of ours.
#include "csrc/ops/math.h"
#include "csrc/ops/structured.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/elu_backward_meta.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/hardshrink_backward_meta.h>
#include <ATen/ops/hardsigmoid_backward_meta.h>
#include <ATen/ops/logit_backward_meta.h>
#include <ATen/ops/softplus_backward_meta.h>
#include <ATen/ops/softshrink_backward_meta.h>

namespace torch_fl::ops {

namespace {

using at::Scalar;
using at::Tensor;

// Gradient and input, promoted, for operators without a structured class.
struct GradientMeta : at::TensorIteratorBase {
  void meta(const Tensor& grad, const Tensor& self) {
    build_borrowing_binary_op(maybe_get_output(0), grad, self);
  }
};
struct HardtanhMeta : GradientMeta {
  void meta(
      const Tensor& grad,
      const Tensor& self,
      const Scalar& /*lowest*/,
      const Scalar& /*highest*/) {
    GradientMeta::meta(grad, self);
  }
};

template <class Meta, FlGradient op>
struct Gradient : Meta {
  bool accepts(const Tensor& /*grad*/, const Tensor& /*self*/) {
    return kernel_float(this->common_dtype()) && fits_kernel(*this);
  }
  void impl(const Tensor& /*grad*/, const Tensor& /*self*/, const Tensor&) {
    compute(*this, this->common_dtype(), op);
  }
};

template <class Meta>
struct ShrinkGradient : Meta {
  bool accepts(const Tensor& /*grad*/, const Tensor&, const Scalar&) {
    return kernel_float(this->common_dtype()) && fits_kernel(*this);
  }
  void impl(
      const Tensor& /*grad*/,
      const Tensor& /*self*/,
      const Scalar& lambda,
      const Tensor& /*out*/) {
    compute(
        *this,
        this->common_dtype(),
        kFlShrinkGradient,
        math_numbers({lambda}));
  }
};

template <class Meta, FlGradient op>
struct GradientOfTwo : Meta {
  bool
  accepts(const Tensor& /*grad*/, const Tensor&, const Scalar&, const Scalar&) {
    return kernel_float(this->common_dtype()) && fits_kernel(*this);
  }
  void impl(
      const Tensor& /*grad*/,
      const Tensor& /*self*/,
      const Scalar& first,
      const Scalar& second,
      const Tensor& /*out*/) {
    compute(*this, this->common_dtype(), op, math_numbers({first, second}));
  }
};

struct EluGradient : at::meta::structured_elu_backward {
  bool accepts(
      const Tensor& /*grad*/,
      const Scalar& /*alpha*/,
      const Scalar& /*scale*/,
      const Scalar& /*input_scale*/,
      bool /*is_result*/,
      const Tensor& /*saved*/) {
    return kernel_float(common_dtype()) && fits_kernel(*this);
  }
  void impl(
      const Tensor& /*grad*/,
      const Scalar& alpha,
      const Scalar& scale,
      const Scalar& input_scale,
      bool is_result,
      const Tensor& /*saved*/,
      const Tensor& /*out*/) {
    compute(
        *this,
        common_dtype(),
        is_result ? kFlEluResultGradient : kFlEluGradient,
        math_numbers(
            {alpha.toDouble() * scale.toDouble(), scale, input_scale}));
  }
};

struct LogitGradient : at::meta::structured_logit_backward {
  bool accepts(const Tensor& /*grad*/, const Tensor&, std::optional<double>) {
    return kernel_float(common_dtype()) && fits_kernel(*this);
  }
  void impl(
      const Tensor& /*grad*/,
      const Tensor& /*self*/,
      std::optional<double> epsilon,
      const Tensor& /*out*/) {
    compute(
        *this,
        common_dtype(),
        kFlLogitGradient,
        math_numbers({epsilon.value_or(-1.0)}));
  }
};

Tensor& log_sigmoid_backward_out(
    const Tensor& grad,
    const Tensor& self,
    const Tensor& /*buffer*/,
    Tensor& grad_input) {
  require_floats("log_sigmoid_backward", self.scalar_type());
  at::native::resize_output(grad_input, self.sizes());
  at::TensorIterator iter = iterator_over(grad_input, {grad, self});
  compute(iter, self.scalar_type(), kFlLogSigmoidGradient);
  return grad_input;
}

Tensor log_sigmoid_backward(
    const Tensor& grad,
    const Tensor& self,
    const Tensor& buffer) {
  Tensor made = at::empty_like(grad);
  return ops::log_sigmoid_backward_out(grad, self, buffer, made);
}

Tensor& glu_backward_out(
    const Tensor& grad,
    const Tensor& self,
    int64_t dim,
    Tensor& grad_input) {
  TORCH_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  const at::ScalarType type = self.scalar_type();
  require_floats("glu_backward", type);
  const int64_t along = at::maybe_wrap_dim(dim, self.dim());
  const int64_t width = self.size(along);
  TORCH_CHECK(
      width % 2 == 0,
      "Halving dimension must be even, but dimension ",
      along,
      " is size ",
      width);
  const int64_t half = width / 2;
  at::native::resize_output(grad_input, self.sizes());
  const Tensor gate = self.narrow(along, half, half);
  at::TensorIterator to_value =
      iterator_over(grad_input.narrow(along, 0, half), {grad, gate});
  compute(to_value, type, kFlGluGateGradient);
  at::TensorIterator to_gate = iterator_over(
      grad_input.narrow(along, half, half),
      {grad, self.narrow(along, 0, half), gate});
  compute(to_gate, type, kFlGluGradient);
  return grad_input;
}

Tensor glu_backward(const Tensor& grad, const Tensor& self, int64_t dim) {
  Tensor made = at::empty_like(self);
  return ops::glu_backward_out(grad, self, dim, made);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  structured<EluGradient>(
      r,
      "elu_backward",
      nullptr,
      "elu_backward.grad_input");
  structured<
      Gradient<meta::structured_hardsigmoid_backward, kFlHardsigmoidGradient>>(
      r,
      "hardsigmoid_backward",
      nullptr,
      "hardsigmoid_backward.grad_input");
  structured<Gradient<GradientMeta, kFlHardswishGradient>>(
      r,
      "hardswish_backward",
      nullptr,
      "hardswish_backward.out");
  structured<GradientOfTwo<HardtanhMeta, kFlHardtanhGradient>>(
      r,
      "hardtanh_backward",
      nullptr,
      "hardtanh_backward.grad_input");
  structured<
      GradientOfTwo<meta::structured_softplus_backward, kFlSoftplusGradient>>(
      r,
      "softplus_backward",
      nullptr,
      "softplus_backward.grad_input");
  structured<ShrinkGradient<meta::structured_hardshrink_backward>>(
      r,
      "hardshrink_backward",
      nullptr,
      "hardshrink_backward.grad_input");
  structured<ShrinkGradient<meta::structured_softshrink_backward>>(
      r,
      "softshrink_backward",
      nullptr,
      "softshrink_backward.grad_input");
  structured<LogitGradient>(
      r,
      "logit_backward",
      nullptr,
      "logit_backward.grad_input");
  r.native<&FormsOf<Gradient<GradientMeta, kFlMishGradient>>::functional>(
      "mish_backward");
  r.native<&log_sigmoid_backward>("log_sigmoid_backward");
  r.native<&log_sigmoid_backward_out>("log_sigmoid_backward.grad_input");
  r.native<&glu_backward>("glu_backward");
  r.native<&glu_backward_out>("glu_backward.grad_input");
}

} // namespace

} // namespace torch_fl::ops
