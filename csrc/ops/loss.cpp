// SPDX-License-Identifier: Apache-2.0
// Negative log likelihood, in one and two dimensions, and mean squared error.
#include "csrc/mudnn/loss.h"
#include "csrc/ops/output.h"
#include "csrc/ops/structured.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/mse_loss_meta.h>
#include <ATen/ops/nll_loss2d_backward_ops.h>
#include <ATen/ops/nll_loss2d_forward_ops.h>
#include <ATen/ops/nll_loss_backward_meta.h>
#include <ATen/ops/nll_loss_forward_meta.h>

#include <limits>
#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::OptionalTensorRef;
using at::Tensor;

// NLLLoss is float only: half and bfloat16 are widened, doubles are the CPU's.
bool can_widen(at::ScalarType type) {
  return mudnn::can_nll(type) || type == at::kHalf || type == at::kBFloat16;
}

Tensor dense_in(const Tensor& tensor, at::ScalarType type) {
  const Tensor dense = tensor.contiguous();
  return dense.scalar_type() == type ? dense : dense.to(type);
}

// The scores as dense float rows, a single one too.
Tensor rows_of(const Tensor& self) {
  const Tensor rows = self.dim() == 1 ? self.unsqueeze(0) : self;
  return dense_in(rows, at::kFloat);
}

Tensor labels_of(const Tensor& target) {
  TORCH_CHECK(
      target.scalar_type() == at::kLong || target.scalar_type() == at::kByte,
      "expected scalar type Long or Byte but found ",
      target.scalar_type());
  const Tensor dense = dense_in(target, at::kLong);
  return dense.dim() == 1 ? dense : dense.view({-1});
}

Tensor weights_of(const Tensor& weight, const Tensor& self) {
  if (!weight.defined()) {
    return {};
  }
  TORCH_CHECK(
      weight.scalar_type() == self.scalar_type(),
      "expected scalar type ",
      self.scalar_type(),
      " but found ",
      weight.scalar_type());
  return dense_in(weight, at::kFloat);
}

Tensor value_of(OptionalTensorRef weight) {
  return weight.has_value() ? *weight : Tensor();
}

// rows: {N, C} dense floats; out: N losses or one.
void forward(
    const Tensor& rows,
    const Tensor& labels,
    const Tensor& weight,
    const mudnn::NllOptions& options,
    const Tensor& out,
    const Tensor& total_weight) {
  if (rows.size(0) == 0) {
    total_weight.zero_();
    if (out.numel() == 1) {
      out.fill_(
          options.reduction == at::Reduction::Mean
              ? std::numeric_limits<double>::quiet_NaN()
              : 0.0);
    }
    return;
  }
  const bool direct = out.scalar_type() == at::kFloat && out.is_contiguous();
  const Tensor losses = direct ? out : make_dense(out.sizes(), at::kFloat);
  const Tensor total = total_weight.scalar_type() == at::kFloat
      ? total_weight
      : make_dense({}, at::kFloat);
  mudnn::nll_loss(losses, total, rows, labels, weight, options);
  if (!direct) {
    copy_back(out, losses);
  }
  if (!total.is_same(total_weight)) {
    copy_back(total_weight, total);
  }
}

// Writes a dense float {N, C}.
void backward(
    const Tensor& grad_rows,
    const Tensor& grad,
    const Tensor& labels,
    const Tensor& weight,
    const Tensor& total_weight,
    const mudnn::NllOptions& options) {
  if (grad_rows.numel() != 0) {
    mudnn::nll_loss_backward(
        grad_rows,
        dense_in(grad, at::kFloat),
        labels,
        weight,
        dense_in(total_weight, at::kFloat),
        options);
  }
}

struct NllLoss : at::meta::structured_nll_loss_forward {
  static bool accepts(
      const Tensor& self,
      const Tensor& /*target*/,
      OptionalTensorRef /*weight*/,
      int64_t /*reduction*/,
      int64_t /*ignore_index*/) {
    return can_widen(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      const Tensor& target,
      OptionalTensorRef weight,
      int64_t reduction,
      int64_t ignore_index,
      const Tensor& out,
      const Tensor& total_weight) {
    forward(
        rows_of(self),
        labels_of(target),
        weights_of(value_of(weight), self),
        {reduction, ignore_index},
        out,
        total_weight);
  }
};

struct NllLossBackward : at::meta::structured_nll_loss_backward {
  static bool accepts(
      const Tensor& /*grad*/,
      const Tensor& self,
      const Tensor& /*target*/,
      OptionalTensorRef /*weight*/,
      int64_t /*reduction*/,
      int64_t /*ignore_index*/,
      const Tensor& /*total_weight*/) {
    return can_widen(self.scalar_type());
  }
  void impl(
      const Tensor& grad,
      const Tensor& self,
      const Tensor& target,
      OptionalTensorRef weight,
      int64_t reduction,
      int64_t ignore_index,
      const Tensor& total_weight,
      const Tensor& grad_input) {
    const bool direct =
        grad_input.scalar_type() == at::kFloat && grad_input.is_contiguous();
    const Tensor dense =
        direct ? grad_input : make_dense(self.sizes(), at::kFloat);
    backward(
        self.dim() == 1 ? dense.unsqueeze(0) : dense,
        grad,
        labels_of(target),
        weights_of(value_of(weight), self),
        total_weight,
        {reduction, ignore_index});
    if (!direct) {
      copy_back(grad_input, dense);
    }
  }
};

// ---- images: a row for every pixel

void check_images(const Tensor& self, const Tensor& target) {
  TORCH_CHECK(
      target.dim() == 3,
      "only batches of spatial targets supported (3D tensors) but got targets "
      "of dimension: ",
      target.dim());
  TORCH_CHECK(
      self.dim() == 4,
      "only batches of spatial inputs supported (4D tensors), but got input of "
      "dimension: ",
      self.dim());
  TORCH_CHECK(
      self.size(0) == target.size(0) && self.size(2) == target.size(1) &&
          self.size(3) == target.size(2),
      "size mismatch (got input: ",
      self.sizes(),
      " , target: ",
      target.sizes());
  check_same_device(self, target);
}

Tensor pixels_of(const Tensor& self) {
  return self.permute({0, 2, 3, 1})
      .to(at::kFloat)
      .contiguous()
      .view({-1, self.size(1)});
}

std::tuple<Tensor, Tensor> nll_loss2d_made(
    const Tensor& self,
    const Tensor& target,
    const std::optional<Tensor>& weight,
    int64_t reduction,
    int64_t ignore_index) {
  if (!can_widen(self.scalar_type())) {
    return routing::to_cpu<at::_ops::nll_loss2d_forward>::call(
        self,
        target,
        weight,
        reduction,
        ignore_index);
  }
  check_images(self, target);
  const runtime::DeviceScope scope(self.device());
  Tensor out = reduction == at::Reduction::None
      ? make_dense(target.sizes(), self.scalar_type())
      : make_dense({}, self.scalar_type());
  Tensor total_weight = make_dense({}, self.scalar_type());
  forward(
      pixels_of(self),
      labels_of(target),
      weights_of(weight.value_or(Tensor()), self),
      {reduction, ignore_index},
      reduction == at::Reduction::None ? out.view({-1}) : out,
      total_weight);
  return {std::move(out), std::move(total_weight)};
}

Tensor nll_loss2d_gradient(
    const Tensor& grad,
    const Tensor& self,
    const Tensor& target,
    const std::optional<Tensor>& weight,
    int64_t reduction,
    int64_t ignore_index,
    const Tensor& total_weight) {
  if (!can_widen(self.scalar_type())) {
    return routing::to_cpu<at::_ops::nll_loss2d_backward>::call(
        grad,
        self,
        target,
        weight,
        reduction,
        ignore_index,
        total_weight);
  }
  check_images(self, target);
  const runtime::DeviceScope scope(self.device());
  const int64_t channels = self.size(1);
  const Tensor rows = make_dense({target.numel(), channels}, at::kFloat);
  backward(
      rows,
      reduction == at::Reduction::None ? grad.contiguous().view({-1}) : grad,
      labels_of(target),
      weights_of(weight.value_or(Tensor()), self),
      total_weight,
      {reduction, ignore_index});
  return rows.view({self.size(0), self.size(2), self.size(3), channels})
      .permute({0, 3, 1, 2})
      .to(self.scalar_type())
      .contiguous();
}

std::tuple<Tensor&, Tensor&> nll_loss2d_out(
    const Tensor& self,
    const Tensor& target,
    const std::optional<Tensor>& weight,
    int64_t reduction,
    int64_t ignore_index,
    Tensor& out,
    Tensor& total_weight) {
  auto [losses, total] =
      nll_loss2d_made(self, target, weight, reduction, ignore_index);
  at::native::resize_output(out, losses.sizes());
  at::native::resize_output(total_weight, total.sizes());
  copy_back(out, losses);
  copy_back(total_weight, total);
  return {out, total_weight};
}

Tensor& nll_loss2d_backward_out(
    const Tensor& grad,
    const Tensor& self,
    const Tensor& target,
    const std::optional<Tensor>& weight,
    int64_t reduction,
    int64_t ignore_index,
    const Tensor& total_weight,
    Tensor& grad_input) {
  const Tensor made = nll_loss2d_gradient(
      grad,
      self,
      target,
      weight,
      reduction,
      ignore_index,
      total_weight);
  at::native::resize_output(grad_input, made.sizes());
  copy_back(grad_input, made);
  return grad_input;
}

// ---- mean squared error: a composition of three calls

Tensor mse(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor squares = self.sub(target);
  squares.mul_(squares);
  return reduction == at::Reduction::None ? squares
      : reduction == at::Reduction::Mean  ? squares.mean()
                                          : squares.sum();
}

Tensor& mse_loss_out(
    const Tensor& self,
    const Tensor& target,
    int64_t reduction,
    Tensor& out) {
  const Tensor made = mse(self, target, reduction);
  at::native::resize_output(out, made.sizes());
  copy_back(out, made);
  return out;
}

Tensor mse_gradient(
    const Tensor& grad,
    const Tensor& self,
    const Tensor& target,
    int64_t reduction) {
  const double scale = reduction == at::Reduction::Mean
      ? 2.0 / static_cast<double>(self.numel())
      : 2.0;
  return self.sub(target).mul_(scale).mul_(grad);
}

Tensor& mse_loss_backward_out(
    const Tensor& grad,
    const Tensor& self,
    const Tensor& target,
    int64_t reduction,
    Tensor& grad_input) {
  const Tensor made = mse_gradient(grad, self, target, reduction);
  at::native::resize_output(grad_input, made.sizes());
  copy_back(grad_input, made);
  return grad_input;
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  structured<NllLoss>(
      registrar,
      "nll_loss_forward",
      nullptr,
      "nll_loss_forward.output");
  structured<NllLossBackward>(
      registrar,
      "nll_loss_backward",
      nullptr,
      "nll_loss_backward.grad_input");
  registrar.native<&nll_loss2d_made>("nll_loss2d_forward");
  registrar.native<&nll_loss2d_out>("nll_loss2d_forward.output");
  registrar.native<&nll_loss2d_gradient>("nll_loss2d_backward");
  registrar.native<&nll_loss2d_backward_out>("nll_loss2d_backward.grad_input");
  registrar.native<&mse>("mse_loss");
  registrar.native<&mse_loss_out>("mse_loss.out");
  registrar.native<&mse_gradient>("mse_loss_backward");
  registrar.native<&mse_loss_backward_out>("mse_loss_backward.grad_input");
}

} // namespace torch_fl::ops
