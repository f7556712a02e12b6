// SPDX-License-Identifier: Apache-2.0
// _softmax, _log_softmax, their backward passes, and softmax under a mask.
#include "csrc/mudnn/softmax.h"
#include "csrc/ops/structured.h"
#include "csrc/routing/register.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/_log_softmax_backward_data_meta.h>
#include <ATen/ops/_log_softmax_meta.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/_softmax_backward_data_meta.h>
#include <ATen/ops/_softmax_meta.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sub.h>

#include <limits>
#include <optional>

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

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 0 where everything that a share is of is -inf, in place of NaN.
Tensor safe_softmax(
    const Tensor& self,
    int64_t dim,
    std::optional<at::ScalarType> dtype) {
  Tensor out = at::softmax(self, dim, dtype);
  if (out.numel() == 0 || !c10::isFloatingType(self.scalar_type())) {
    return out;
  }
  const Tensor hidden = self.amax(dim, /*keepdim=*/true).eq(-kInfinity);
  return out.masked_fill_(hidden, 0);
}

// The mask in the sizes of `self`: 0 is [L, L], 1 is [B, L], of self
// [B, H, L, L]; 2 has self's sizes already.
Tensor spread_mask(
    const Tensor& self,
    const Tensor& mask,
    std::optional<int64_t> given) {
  TORCH_CHECK(
      mask.scalar_type() == at::kBool,
      "Mask should be a boolean tensor");
  const bool flat = mask.dim() == 2 && self.dim() == 4;
  const int64_t type = flat ? given.value_or(2) : 2;
  if (type == 1) {
    TORCH_CHECK(
        self.size(0) == mask.size(0) && self.size(2) == mask.size(1),
        "For mask_type == 1 mask shape should be (B, L)");
    return mask.view({mask.size(0), 1, 1, mask.size(1)}).expand_as(self);
  }
  if (type == 0) {
    TORCH_CHECK(
        self.size(2) == mask.size(0) && self.size(2) == mask.size(1),
        "For mask_type == 0 mask shape should be (L, L)");
    return mask.expand_as(self);
  }
  TORCH_CHECK(
      self.sizes() == mask.sizes(),
      "For mask_type == 2 mask shape should match input shape");
  return mask;
}

// True in the mask: not seen, its share is 0.
Tensor masked_softmax(
    const Tensor& self,
    const Tensor& mask,
    std::optional<int64_t> dim,
    std::optional<int64_t> type) {
  const Tensor hidden = spread_mask(self, mask, type);
  const int64_t axis = at::maybe_wrap_dim(dim.value_or(-1), self.dim());
  return at::_softmax(self.masked_fill(hidden, -kInfinity), axis, false);
}

Tensor masked_softmax_backward(
    const Tensor& grad,
    const Tensor& output,
    const Tensor& mask,
    std::optional<int64_t> dim) {
  TORCH_CHECK(
      grad.sizes() == mask.sizes(),
      "Mask shape should match grad shape");
  TORCH_CHECK(
      mask.scalar_type() == at::kBool,
      "Mask should be a boolean tensor");
  const int64_t axis = at::maybe_wrap_dim(dim.value_or(-1), grad.dim());
  return at::_softmax_backward_data(
      grad.masked_fill(mask, 0),
      output,
      axis,
      output.scalar_type());
}

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
  registrar.native<&safe_softmax>("_safe_softmax");
  registrar.native<&masked_softmax>("_masked_softmax");
  registrar.native<&masked_softmax_backward>("_masked_softmax_backward");
}

} // namespace torch_fl::ops
