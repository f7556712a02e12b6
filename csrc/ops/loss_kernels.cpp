// SPDX-License-Identifier: Apache-2.0
// Losses on kernels of ours: Huber, smooth L1, binary cross entropy.
#include "csrc/ops/math.h"
#include "csrc/ops/structured.h"

#include <ATen/core/Reduction.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/PointwiseOps.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/huber_loss_backward_native.h>
#include <ATen/ops/huber_loss_native.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/smooth_l1_loss_backward_native.h>
#include <ATen/ops/smooth_l1_loss_native.h>
#include <ATen/ops/sum.h>

namespace torch_fl::ops {

namespace {

using at::Scalar;
using at::Tensor;

// What torch's own functions call, with (out, input, target) and, backward,
// (out, input, target, gradient).
void huber_kernel(at::TensorIterator& iter, double delta) {
  require_floats("huber", iter.common_dtype());
  compute(iter, iter.common_dtype(), kFlHuber, math_numbers({delta}));
}
void huber_backward_kernel(
    at::TensorIterator& iter,
    const Scalar& norm,
    double delta) {
  require_floats("huber_backward", iter.dtype(0));
  compute(iter, iter.dtype(0), kFlHuberGradient, math_numbers({norm, delta}));
}
void smooth_l1_kernel(at::TensorIteratorBase& iter, double beta) {
  require_floats("smooth_l1", iter.common_dtype());
  compute(iter, iter.common_dtype(), kFlSmoothL1, math_numbers({beta}));
}
void smooth_l1_backward_kernel(
    at::TensorIterator& iter,
    const Scalar& norm,
    double beta) {
  require_floats("smooth_l1_backward", iter.dtype(0));
  compute(iter, iter.dtype(0), kFlSmoothL1Gradient, math_numbers({norm, beta}));
}

using Weight = std::optional<Tensor>;

// The loss of each element. The CPU refuses input outside of [0, 1]; here it
// gives NaN, since nobody waits for the device.
Tensor cross_entropies(
    const Tensor& self,
    const Tensor& target,
    const Weight& weight) {
  require_floats("binary_cross_entropy", self.scalar_type());
  check_same_device(self, target);
  Tensor losses = at::empty_like(self);
  at::TensorIterator iter = iterator_over(losses, {self, target});
  compute(iter, self.scalar_type(), kFlBinaryCrossEntropy);
  if (weight.has_value() && weight->defined()) {
    losses.mul_(*weight);
  }
  return losses;
}

Tensor binary_cross_entropy(
    const Tensor& self,
    const Tensor& target,
    const Weight& weight,
    int64_t reduction) {
  const Tensor losses = cross_entropies(self, target, weight);
  return reduction == at::Reduction::None ? losses
      : reduction == at::Reduction::Mean  ? losses.mean()
                                          : losses.sum();
}

Tensor& binary_cross_entropy_out(
    const Tensor& self,
    const Tensor& target,
    const Weight& weight,
    int64_t reduction,
    Tensor& out) {
  const Tensor made =
      ops::binary_cross_entropy(self, target, weight, reduction);
  check_out(out, made.scalar_type(), self);
  at::native::resize_output(out, made.sizes());
  copy_back(out, made);
  return out;
}

Tensor& binary_cross_entropy_backward_out(
    const Tensor& grad,
    const Tensor& self,
    const Tensor& target,
    const Weight& weight,
    int64_t reduction,
    Tensor& grad_input) {
  require_floats("binary_cross_entropy_backward", self.scalar_type());
  check_same_device(self, target);
  check_out(grad_input, self.scalar_type(), self);
  at::native::resize_output(grad_input, self.sizes());
  at::TensorIterator iter = iterator_over(grad_input, {grad, self, target});
  compute(iter, self.scalar_type(), kFlBinaryCrossEntropyGradient);
  if (weight.has_value() && weight->defined()) {
    grad_input.mul_(*weight);
  }
  if (reduction == at::Reduction::Mean) {
    grad_input.div_(self.numel());
  }
  return grad_input;
}

Tensor binary_cross_entropy_backward(
    const Tensor& grad,
    const Tensor& self,
    const Tensor& target,
    const Weight& weight,
    int64_t reduction) {
  Tensor made = at::empty_like(self);
  return ops::binary_cross_entropy_backward_out(
      grad,
      self,
      target,
      weight,
      reduction,
      made);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  structured<at::native::structured_smooth_l1_loss_out>(
      r,
      "smooth_l1_loss",
      nullptr,
      "smooth_l1_loss.out");
  r.native<&at::native::smooth_l1_loss_backward>("smooth_l1_loss_backward");
  r.native<&at::native::smooth_l1_loss_backward_out>(
      "smooth_l1_loss_backward.grad_input");
  r.native<&at::native::huber_loss>("huber_loss");
  r.native<&at::native::huber_loss_out>("huber_loss.out");
  r.native<&at::native::huber_loss_backward>("huber_loss_backward");
  r.native<&at::native::huber_loss_backward_out>("huber_loss_backward.out");
  r.native<&binary_cross_entropy>("binary_cross_entropy");
  r.native<&binary_cross_entropy_out>("binary_cross_entropy.out");
  r.native<&binary_cross_entropy_backward>("binary_cross_entropy_backward");
  r.native<&binary_cross_entropy_backward_out>(
      "binary_cross_entropy_backward.grad_input");
}

} // namespace

} // namespace torch_fl::ops

namespace at::native {

REGISTER_PRIVATEUSE1_DISPATCH(huber_stub, &torch_fl::ops::huber_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(
    huber_backward_stub,
    &torch_fl::ops::huber_backward_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(smooth_l1_stub, &torch_fl::ops::smooth_l1_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(
    smooth_l1_backward_stub,
    &torch_fl::ops::smooth_l1_backward_kernel)

} // namespace at::native
