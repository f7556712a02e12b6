// SPDX-License-Identifier: Apache-2.0
// multi_margin_loss, composed: the margin of each class over the target's.
#include "csrc/ops/elementwise.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/where.h>

#include <optional>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

// The arguments as matrices: [frames, classes] and [frames, 1].
struct Margins {
  Tensor excess; // what a class has beyond the margin, 0 for the target's
  Tensor is_target;
  Tensor weight; // of each frame's target; undefined: 1
  int64_t frames;
  int64_t classes;
  bool squared;
};

void check_shapes(
    const Tensor& self,
    const Tensor& target,
    const MaybeTensor& weight,
    const Margins& m) {
  const int64_t rank = self.dim();
  TORCH_CHECK(
      rank == 0 || (rank <= 2 && self.size(-1) != 0),
      "Expected non-empty vector or matrix with optional 0-dim batch size, but "
      "got: ",
      self.sizes());
  TORCH_CHECK(
      target.dim() <= 1 && target.numel() == m.frames,
      "inconsistent target size, expected ",
      m.frames,
      " but got ",
      target.sizes());
  TORCH_CHECK(
      target.scalar_type() == at::kLong,
      "expected scalar type Long but found ",
      target.scalar_type());
  if (weight.has_value() && weight->defined()) {
    check_same_device(self, *weight);
    TORCH_CHECK(
        weight->dim() <= 1 && weight->numel() == m.classes,
        "inconsistent weight size, expected ",
        m.classes,
        " but got ",
        weight->sizes());
  }
}

Margins margins_of(
    const Tensor& self,
    const Tensor& target,
    const at::Scalar& p,
    const at::Scalar& margin,
    const MaybeTensor& weight) {
  const int64_t power = p.toLong();
  TORCH_CHECK(power == 1 || power == 2, "only p == 1 and p == 2 supported");
  check_same_device(self, target);
  Margins m{};
  m.frames = self.dim() < 2 ? 1 : self.size(0);
  m.classes = self.dim() == 0 ? 1 : self.size(-1);
  m.squared = power == 2;
  check_shapes(self, target, weight, m);
  const Tensor x = self.reshape({m.frames, m.classes});
  const Tensor y = target.reshape({m.frames, 1});
  m.is_target = at::arange(m.classes, y.options()).eq(y);
  const Tensor excess = x.sub(x.gather(1, y)).add_(margin).clamp_min_(0);
  m.excess = excess.masked_fill_(m.is_target, 0);
  if (weight.has_value() && weight->defined()) {
    m.weight = weight->reshape({-1}).index_select(0, y.squeeze(1)).unsqueeze(1);
  }
  return m;
}

Tensor loss_of_margins(
    const Tensor& self,
    const Tensor& target,
    const at::Scalar& p,
    const at::Scalar& margin,
    const MaybeTensor& weight,
    int64_t reduction) {
  const runtime::DeviceScope scope(self.device());
  const Margins m = margins_of(self, target, p, margin, weight);
  Tensor terms = m.squared ? m.excess.mul(m.excess) : m.excess;
  if (m.weight.defined()) {
    terms = terms.mul(m.weight);
  }
  const Tensor losses = terms.sum(1).div_(m.classes);
  if (reduction == at::Reduction::None) {
    return target.dim() > 0 ? losses : losses.reshape({});
  }
  return reduction == at::Reduction::Mean ? losses.mean() : losses.sum();
}

Tensor& multi_margin_loss_out(
    const Tensor& self,
    const Tensor& target,
    const at::Scalar& p,
    const at::Scalar& margin,
    const MaybeTensor& weight,
    int64_t reduction,
    Tensor& out) {
  const Tensor made =
      loss_of_margins(self, target, p, margin, weight, reduction);
  check_out(out, made.scalar_type(), self);
  at::native::resize_output(out, made.sizes());
  return out.copy_(made);
}

Tensor slope_of_margins(
    const Tensor& grad,
    const Tensor& self,
    const Tensor& target,
    const at::Scalar& p,
    const at::Scalar& margin,
    const MaybeTensor& weight,
    int64_t reduction) {
  const runtime::DeviceScope scope(self.device());
  const Margins m = margins_of(self, target, p, margin, weight);
  const int64_t count =
      reduction == at::Reduction::Mean ? m.frames * m.classes : m.classes;
  Tensor slope =
      m.squared ? m.excess.mul(2) : m.excess.gt(0).to(self.scalar_type());
  if (m.weight.defined()) {
    slope = slope.mul(m.weight);
  }
  slope = slope.div_(count);
  const Tensor whole = at::where(m.is_target, slope.sum(1, true).neg_(), slope);
  const Tensor outer =
      reduction == at::Reduction::None ? grad.reshape({-1, 1}) : grad;
  return whole.mul(outer).reshape(self.sizes());
}

Tensor& multi_margin_loss_backward_out(
    const Tensor& grad,
    const Tensor& self,
    const Tensor& target,
    const at::Scalar& p,
    const at::Scalar& margin,
    const MaybeTensor& weight,
    int64_t reduction,
    Tensor& out) {
  const Tensor made =
      slope_of_margins(grad, self, target, p, margin, weight, reduction);
  check_out(out, made.scalar_type(), self);
  at::native::resize_output(out, made.sizes());
  return out.copy_(made);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&loss_of_margins>("multi_margin_loss");
  r.native<&multi_margin_loss_out>("multi_margin_loss.out");
  r.native<&slope_of_margins>("multi_margin_loss_backward");
  r.native<&multi_margin_loss_backward_out>(
      "multi_margin_loss_backward.grad_input");
}

} // namespace

} // namespace torch_fl::ops
