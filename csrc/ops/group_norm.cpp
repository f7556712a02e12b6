// SPDX-License-Identifier: Apache-2.0
// Group normalisation: the rows of a layer norm, then a scale and a shift for
// each channel.
#include "csrc/mudnn/norm.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_group_norm_backward_ops.h>
#include <ATen/ops/native_group_norm_native.h>

#include <array>
#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

struct Sizes {
  int64_t batch;
  int64_t channels;
  int64_t pixels;
  int64_t groups;

  int64_t rows() const { return batch * groups; }
  int64_t columns() const { return channels / groups * pixels; }
};

// Broadcasts over a {batch, channels, pixels} image.
Tensor by_channel(const Tensor& parameter) {
  return parameter.to(at::kFloat).view({1, -1, 1});
}

Tensor as_rows(const Tensor& input, const Sizes& s) {
  return input.to(at::kFloat).contiguous().view({s.rows(), s.columns()});
}

Three group_norm(
    const Tensor& input,
    const std::optional<Tensor>& weight,
    const std::optional<Tensor>& bias,
    int64_t batch,
    int64_t channels,
    int64_t pixels,
    int64_t groups,
    double epsilon) {
  const Sizes s{batch, channels, pixels, groups};
  const runtime::DeviceScope scope(input.device());
  Tensor mean = make_dense({batch, groups}, at::kFloat);
  Tensor rstd = make_dense({batch, groups}, at::kFloat);
  if (input.numel() == 0) {
    return {at::empty_like(input), mean.zero_(), rstd.zero_()};
  }
  Tensor out = make_dense({s.rows(), s.columns()}, at::kFloat);
  mudnn::layer_norm(
      out,
      mean,
      rstd,
      as_rows(input, s),
      Tensor(),
      Tensor(),
      epsilon,
      {s.rows(), s.columns()});
  out = out.view({batch, channels, pixels});
  if (weight && weight->defined()) {
    check_same_device(input, *weight);
    out.mul_(by_channel(*weight));
  }
  if (bias && bias->defined()) {
    check_same_device(input, *bias);
    out.add_(by_channel(*bias));
  }
  return {
      out.view(input.sizes()).to(input.scalar_type()),
      std::move(mean),
      std::move(rstd)};
}

// NOLINTNEXTLINE(readability-function-size): the schema's arguments
Three group_norm_backward(
    const Tensor& grad_out,
    const Tensor& input,
    const Tensor& mean,
    const Tensor& rstd,
    const std::optional<Tensor>& weight,
    int64_t batch,
    int64_t channels,
    int64_t pixels,
    int64_t groups,
    std::array<bool, 3> mask) {
  const Sizes s{batch, channels, pixels, groups};
  check_same_device(grad_out, input);
  const runtime::DeviceScope scope(input.device());
  const Tensor rows = as_rows(input, s);
  const Tensor grad = as_rows(grad_out, s).view({batch, channels, pixels});
  const bool scaled = weight && weight->defined();
  const at::ScalarType affine =
      scaled ? weight->scalar_type() : input.scalar_type();
  Tensor grad_input;
  Tensor grad_weight;
  Tensor grad_bias;
  if (mask[0]) {
    const Tensor scaled_grad = scaled ? grad.mul(by_channel(*weight)) : grad;
    const Tensor made = make_dense({s.rows(), s.columns()}, at::kFloat);
    // The gradients of a scale and shift that are not there are written too.
    const Tensor no_scale = make_dense({s.columns()}, at::kFloat);
    const Tensor no_shift = make_dense({s.columns()}, at::kFloat);
    if (made.numel() != 0) {
      mudnn::layer_norm_backward(
          {made, no_scale, no_shift},
          scaled_grad,
          rows,
          mean.contiguous(),
          rstd.contiguous(),
          Tensor(),
          {s.rows(), s.columns()});
    }
    grad_input = made.view(input.sizes()).to(input.scalar_type());
  }
  if (mask[1]) {
    const Tensor normal = rows.sub(mean.reshape({s.rows(), 1}))
                              .mul_(rstd.reshape({s.rows(), 1}))
                              .view({batch, channels, pixels});
    grad_weight = grad.mul(normal).sum(at::IntArrayRef({0, 2})).to(affine);
  }
  if (mask[2]) {
    grad_bias = grad.sum(at::IntArrayRef({0, 2})).to(affine);
  }
  return {std::move(grad_input), std::move(grad_weight), std::move(grad_bias)};
}

// Doubles are not muDNN's (it keeps statistics in float): torch's composition.
Three group_norm_any(
    const Tensor& input,
    const std::optional<Tensor>& weight,
    const std::optional<Tensor>& bias,
    int64_t batch,
    int64_t channels,
    int64_t pixels,
    int64_t groups,
    double epsilon) {
  if (!mudnn::can_normalize(input.scalar_type())) {
    return at::native::math_group_norm(
        input.contiguous(),
        weight,
        bias,
        batch,
        channels,
        pixels,
        groups,
        epsilon);
  }
  return group_norm(
      input,
      weight,
      bias,
      batch,
      channels,
      pixels,
      groups,
      epsilon);
}

// NOLINTNEXTLINE(readability-function-size): the schema's arguments
Three group_norm_backward_any(
    const Tensor& grad_out,
    const Tensor& input,
    const Tensor& mean,
    const Tensor& rstd,
    const std::optional<Tensor>& weight,
    int64_t batch,
    int64_t channels,
    int64_t pixels,
    int64_t groups,
    std::array<bool, 3> mask) {
  if (!mudnn::can_normalize(input.scalar_type())) {
    return routing::to_cpu<at::_ops::native_group_norm_backward>::call(
        grad_out.contiguous(),
        input.contiguous(),
        mean,
        rstd,
        weight,
        batch,
        channels,
        pixels,
        groups,
        mask);
  }
  return group_norm_backward(
      grad_out,
      input,
      mean,
      rstd,
      weight,
      batch,
      channels,
      pixels,
      groups,
      mask);
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&group_norm_any>("native_group_norm");
  registrar.native<&group_norm_backward_any>("native_group_norm_backward");
}

} // namespace torch_fl::ops
