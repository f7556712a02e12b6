// SPDX-License-Identifier: Apache-2.0
// Activations on kernels of ours.
#include "csrc/ops/math.h"
#include "csrc/ops/structured.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/native/Activation.h>
#include <ATen/ops/_prelu_kernel_backward_native.h>
#include <ATen/ops/_prelu_kernel_native.h>
#include <ATen/ops/elu_meta.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/glu_meta.h>
#include <ATen/ops/hardshrink_meta.h>
#include <ATen/ops/softplus_meta.h>
#include <ATen/ops/softshrink_meta.h>
#include <ATen/ops/threshold_meta.h>

#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Scalar;
using at::Tensor;

struct Elu : at::meta::structured_elu {
  bool accepts(
      const Tensor& /*self*/,
      const Scalar& /*alpha*/,
      const Scalar& /*scale*/,
      const Scalar& /*input_scale*/) {
    return kernel_float(common_dtype()) && fits_kernel(*this);
  }
  void impl(
      const Tensor& /*self*/,
      const Scalar& alpha,
      const Scalar& scale,
      const Scalar& input_scale,
      const Tensor& /*out*/) {
    compute(
        *this,
        common_dtype(),
        kFlElu,
        math_numbers(
            {alpha.toDouble() * scale.toDouble(), scale, input_scale}));
  }
};

struct Softplus : at::meta::structured_softplus {
  bool accepts(const Tensor&, const Scalar& /*beta*/, const Scalar&) {
    return kernel_float(common_dtype()) && fits_kernel(*this);
  }
  void impl(
      const Tensor& /*self*/,
      const Scalar& beta,
      const Scalar& threshold,
      const Tensor& /*out*/) {
    compute(
        *this,
        common_dtype(),
        kFlSoftplus,
        math_numbers({beta, threshold}));
  }
};

template <class Meta, FlUnary op>
struct Shrink : Meta {
  bool accepts(const Tensor& /*self*/, const Scalar& /*lambda*/) {
    return kernel_float(this->common_dtype()) && fits_kernel(*this);
  }
  void
  impl(const Tensor& /*self*/, const Scalar& lambda, const Tensor& /*out*/) {
    compute(*this, this->common_dtype(), op, math_numbers({lambda}));
  }
};

// Threshold's iterator takes its input twice, for the sake of its gradient.
struct Threshold : at::meta::structured_threshold {
  bool accepts(const Tensor& /*self*/, const Scalar&, const Scalar&) {
    return has_kernel_type(common_dtype()) && common_dtype() != at::kBool &&
        fits_kernel(*this);
  }
  void impl(
      const Tensor& self,
      const Scalar& threshold,
      const Scalar& value,
      const Tensor& out) {
    at::TensorIterator one = iterator_over(out, {self});
    compute(
        one,
        self.scalar_type(),
        kFlThreshold,
        math_numbers({threshold, value}));
  }
};

// Both halves of a tensor along a dimension.
std::tuple<Tensor, Tensor> halves(const Tensor& tensor, int64_t dim) {
  const int64_t wrapped = at::maybe_wrap_dim(dim, tensor.dim());
  const int64_t half = tensor.size(wrapped) / 2;
  return {tensor.narrow(wrapped, 0, half), tensor.narrow(wrapped, half, half)};
}

// The class' iterator refers to halves that are gone by now.
struct Glu : at::meta::structured_glu {
  static bool accepts(const Tensor& self, int64_t /*dim*/) {
    return kernel_float(self.scalar_type());
  }
  void impl(const Tensor& self, int64_t dim, const Tensor& out) {
    const auto [value, gate] = halves(self, dim);
    at::TensorIterator iter = iterator_over(out, {value, gate});
    compute(iter, self.scalar_type(), kFlGlu);
  }
};

// As torch.cuda's: the buffer is the CPU kernels' own.
std::tuple<Tensor, Tensor> log_sigmoid(const Tensor& self) {
  require_floats("log_sigmoid", self.scalar_type());
  Tensor out = at::empty_like(self);
  at::TensorIterator iter = iterator_over(out, {self});
  compute(iter, self.scalar_type(), kFlLogSigmoid);
  return {out, at::empty({0}, self.options())};
}

std::tuple<Tensor&, Tensor&>
log_sigmoid_out(const Tensor& self, Tensor& out, Tensor& buffer) {
  require_floats("log_sigmoid", self.scalar_type());
  at::native::resize_output(out, self.sizes());
  at::TensorIterator iter = iterator_over(out, {self});
  compute(iter, self.scalar_type(), kFlLogSigmoid);
  return {out, buffer};
}

void prelu_kernel(at::TensorIterator& iter) {
  require_floats("prelu", iter.common_dtype());
  compute(iter, iter.common_dtype(), kFlPrelu);
}

// Outputs: gradients of input and slope; inputs: input, slope, gradient.
void prelu_backward_kernel(at::TensorIterator& iter) {
  const at::ScalarType type = iter.common_dtype();
  require_floats("prelu_backward", type);
  const Tensor& input = iter.tensor(2);
  const Tensor& grad = iter.tensor(4);
  at::TensorIterator to_input =
      iterator_over(iter.tensor(0), {grad, input, iter.tensor(3)});
  compute(to_input, type, kFlPreluGradient);
  at::TensorIterator to_slope = iterator_over(iter.tensor(1), {grad, input});
  compute(to_slope, type, kFlPreluSlopeGradient);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  structured<Elu>(r, "elu", "elu_", "elu.out");
  structured<Softplus>(r, "softplus", nullptr, "softplus.out");
  structured<Shrink<meta::structured_hardshrink, kFlHardshrink>>(
      r,
      "hardshrink",
      nullptr,
      "hardshrink.out");
  structured<Shrink<meta::structured_softshrink, kFlSoftshrink>>(
      r,
      "softshrink",
      nullptr,
      "softshrink.out");
  structured<Threshold>(r, "threshold", "threshold_", "threshold.out");
  structured<Glu>(r, "glu", nullptr, "glu.out");
  r.native<&log_sigmoid>("log_sigmoid_forward");
  r.native<&log_sigmoid_out>("log_sigmoid_forward.output");
  r.native<&at::native::_prelu_kernel>("_prelu_kernel");
  r.native<&at::native::_prelu_kernel_backward>("_prelu_kernel_backward");
}

} // namespace

} // namespace torch_fl::ops

namespace at::native {

REGISTER_PRIVATEUSE1_DISPATCH(prelu_stub, &torch_fl::ops::prelu_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(
    prelu_backward_stub,
    &torch_fl::ops::prelu_backward_kernel)

} // namespace at::native
