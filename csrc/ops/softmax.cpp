// SPDX-License-Identifier: Apache-2.0
// _softmax, _log_softmax and their backward passes.
#include "csrc/mudnn/softmax.h"
#include "csrc/ops/structured.h"
#include "csrc/routing/register.h"

#include <ATen/ops/_log_softmax_backward_data_meta.h>
#include <ATen/ops/_log_softmax_meta.h>
#include <ATen/ops/_softmax_backward_data_meta.h>
#include <ATen/ops/_softmax_meta.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::SoftmaxKind;

// muDNN has no double softmax: the definition, with the largest value off.
Tensor compose(const Tensor& self, int64_t dim, SoftmaxKind kind) {
  const Tensor shifted = self.sub(self.amax(dim, /*keepdim=*/true));
  if (kind == SoftmaxKind::Softmax) {
    const Tensor powers = shifted.exp();
    return powers.div(powers.sum(dim, /*keepdim=*/true));
  }
  return shifted.sub(shifted.exp().sum(dim, /*keepdim=*/true).log());
}

Tensor compose_backward(
    const Tensor& grad,
    const Tensor& output,
    int64_t dim,
    SoftmaxKind kind) {
  if (kind == SoftmaxKind::Softmax) {
    const Tensor weighted = grad.mul(output);
    return weighted.sub(output.mul(weighted.sum(dim, /*keepdim=*/true)));
  }
  return grad.sub(output.exp().mul(grad.sum(dim, /*keepdim=*/true)));
}

template <class Meta, SoftmaxKind Kind>
struct Forward : Meta {
  static bool accepts(const Tensor& self, int64_t /*dim*/, bool /*widen*/) {
    return c10::isFloatingType(self.scalar_type());
  }
  void impl(const Tensor& self, int64_t dim, bool widen, const Tensor& out) {
    if (out.numel() == 0) {
      return;
    }
    // muDNN's output has the input's dtype: half_to_float casts first.
    const Tensor input = widen ? self.to(out.scalar_type()) : self;
    if (mudnn::can_softmax(input.scalar_type())) {
      mudnn::softmax(out, input, dim, Kind);
    } else {
      out.copy_(compose(input, dim, Kind));
    }
  }
};

template <class Meta, SoftmaxKind Kind>
struct Backward : Meta {
  static bool accepts(
      const Tensor& grad,
      const Tensor& /*output*/,
      int64_t /*dim*/,
      at::ScalarType /*input*/) {
    return c10::isFloatingType(grad.scalar_type());
  }
  void impl(
      const Tensor& grad,
      const Tensor& output,
      int64_t dim,
      at::ScalarType /*input*/,
      const Tensor& grad_input) {
    if (grad_input.numel() == 0) {
      return;
    }
    if (!mudnn::can_softmax(grad.scalar_type())) {
      grad_input.copy_(compose_backward(grad, output, dim, Kind));
    } else if (grad_input.scalar_type() == grad.scalar_type()) {
      mudnn::softmax_backward(grad_input, output, grad, dim, Kind);
    } else {
      // After half_to_float: a float gradient for a half input.
      const Tensor wide = make_dense_like(grad);
      mudnn::softmax_backward(wide, output, grad, dim, Kind);
      grad_input.copy_(wide);
    }
  }
};

using Softmax = Forward<at::meta::structured__softmax, SoftmaxKind::Softmax>;
using LogSoftmax =
    Forward<at::meta::structured__log_softmax, SoftmaxKind::LogSoftmax>;
using SoftmaxBackward =
    Backward<at::meta::structured__softmax_backward_data, SoftmaxKind::Softmax>;
using LogSoftmaxBackward = Backward<
    at::meta::structured__log_softmax_backward_data,
    SoftmaxKind::LogSoftmax>;

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  structured<Softmax>(registrar, "_softmax", nullptr, "_softmax.out");
  structured<LogSoftmax>(
      registrar,
      "_log_softmax",
      nullptr,
      "_log_softmax.out");
  structured<SoftmaxBackward>(
      registrar,
      "_softmax_backward_data",
      nullptr,
      "_softmax_backward_data.out");
  structured<LogSoftmaxBackward>(
      registrar,
      "_log_softmax_backward_data",
      nullptr,
      "_log_softmax_backward_data.out");
}

} // namespace torch_fl::ops
