// SPDX-License-Identifier: Apache-2.0
// Layer normalisation: rows of the leading, columns of the normalised
// dimensions.
#include "csrc/mudnn/norm.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ops/native_layer_norm_backward_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>

#include <array>
#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

Tensor value_of(const std::optional<Tensor>& tensor) {
  return tensor.has_value() ? *tensor : Tensor();
}

struct Rows {
  Rows(const Tensor& input, IntArrayRef normalized_shape) {
    const auto count = static_cast<int64_t>(normalized_shape.size());
    TORCH_CHECK(
        count >= 1,
        "Expected normalized_shape to be at least 1-dimensional, i.e., "
        "containing at least one element, but got normalized_shape = ",
        normalized_shape);
    const int64_t first = input.dim() - count;
    TORCH_CHECK(
        first >= 0 &&
            input.sizes().slice(static_cast<size_t>(first)) == normalized_shape,
        "Given normalized_shape=",
        normalized_shape,
        ", expected input with shape [*",
        normalized_shape,
        "], but got input of size",
        input.sizes());
    for (int64_t i = 0; i < input.dim(); ++i) {
      (i < first ? rows : columns) *= input.size(i);
      statistics.push_back(i < first ? input.size(i) : 1);
    }
  }

  mudnn::RowsOf extents() const { return {rows, columns}; }

  int64_t rows = 1;
  int64_t columns = 1;
  at::DimVector statistics;
};

// Weight and bias in the input's dtype, or everything in float if they differ.
at::ScalarType common_type(const Tensor& input, const Tensor& weight) {
  return weight.defined() && weight.scalar_type() != input.scalar_type()
      ? at::kFloat
      : input.scalar_type();
}

Tensor dense_in(const Tensor& tensor, at::ScalarType type) {
  if (!tensor.defined()) {
    return tensor;
  }
  const Tensor dense = tensor.contiguous();
  return dense.scalar_type() == type ? dense : dense.to(type);
}

Three native_layer_norm(
    const Tensor& input,
    IntArrayRef normalized_shape,
    const std::optional<Tensor>& weight,
    const std::optional<Tensor>& bias,
    double epsilon) {
  if (!mudnn::can_normalize(input.scalar_type())) {
    return routing::to_cpu<at::_ops::native_layer_norm>::call(
        input,
        normalized_shape,
        weight,
        bias,
        epsilon);
  }
  const Rows rows(input, normalized_shape);
  const runtime::DeviceScope scope(input.device());
  const Tensor gamma = value_of(weight);
  const Tensor beta = value_of(bias);
  for (const Tensor* t : {&gamma, &beta}) {
    if (t->defined()) {
      check_same_device(input, *t);
      TORCH_CHECK(
          t->sizes() == normalized_shape,
          "Expected weight and bias to be of same shape as normalized_shape, "
          "but got ",
          t->sizes(),
          " and normalized_shape = ",
          normalized_shape);
    }
  }
  Tensor out = make_dense(input.sizes(), input.scalar_type());
  Tensor mean = make_dense(rows.statistics, at::kFloat);
  Tensor rstd = make_dense(rows.statistics, at::kFloat);
  if (input.numel() == 0) {
    mean.zero_();
    rstd.fill_(0);
    return {std::move(out), std::move(mean), std::move(rstd)};
  }
  const at::ScalarType type =
      common_type(input, gamma.defined() ? gamma : beta);
  const bool same = type == input.scalar_type();
  const Tensor result = same ? out : make_dense(input.sizes(), type);
  mudnn::layer_norm(
      result,
      mean,
      rstd,
      dense_in(input, type),
      dense_in(gamma, type),
      dense_in(beta, type),
      epsilon,
      rows.extents());
  if (!same) {
    copy_back(out, result);
  }
  return {std::move(out), std::move(mean), std::move(rstd)};
}

Three native_layer_norm_backward(
    const Tensor& grad_out,
    const Tensor& input,
    IntArrayRef normalized_shape,
    const Tensor& mean,
    const Tensor& rstd,
    const std::optional<Tensor>& weight,
    const std::optional<Tensor>& bias,
    std::array<bool, 3> output_mask) {
  if (!mudnn::can_normalize(input.scalar_type())) {
    return routing::to_cpu<at::_ops::native_layer_norm_backward>::call(
        grad_out,
        input,
        normalized_shape,
        mean,
        rstd,
        weight,
        bias,
        output_mask);
  }
  check_same_device(grad_out, input);
  const Rows rows(input, normalized_shape);
  const runtime::DeviceScope scope(input.device());
  const Tensor gamma = value_of(weight);
  const at::ScalarType type = common_type(input, gamma);
  // All three gradients are written, asked for or not.
  const Tensor grad_input = make_dense(input.sizes(), type);
  const Tensor grad_weight = make_dense(normalized_shape, type);
  const Tensor grad_bias = make_dense(normalized_shape, type);
  if (input.numel() == 0) {
    grad_weight.zero_();
    grad_bias.zero_();
  } else {
    mudnn::layer_norm_backward(
        {grad_input, grad_weight, grad_bias},
        dense_in(grad_out, type),
        dense_in(input, type),
        mean.contiguous(),
        rstd.contiguous(),
        dense_in(gamma, type),
        rows.extents());
  }
  const at::ScalarType affine =
      gamma.defined() ? gamma.scalar_type() : input.scalar_type();
  return {
      output_mask[0] ? dense_in(grad_input, input.scalar_type()) : Tensor(),
      output_mask[1] ? dense_in(grad_weight, affine) : Tensor(),
      output_mask[2] ? dense_in(grad_bias, affine) : Tensor()};
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&native_layer_norm>("native_layer_norm");
  registrar.native<&native_layer_norm_backward>("native_layer_norm_backward");
}

} // namespace torch_fl::ops
