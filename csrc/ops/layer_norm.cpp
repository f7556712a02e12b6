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

  // Dense, rank 2.
  Tensor of(const Tensor& tensor) const {
    return tensor.contiguous().view({rows, columns});
  }

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

Tensor row_of(const Tensor& parameter, at::ScalarType type) {
  return parameter.defined() ? parameter.to(type).contiguous().view({-1})
                             : Tensor();
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
      rows.of(result),
      mean.view({rows.rows, 1}),
      rstd.view({rows.rows, 1}),
      rows.of(same ? input : input.to(type)),
      row_of(gamma, type),
      row_of(beta, type),
      epsilon);
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
  Tensor grad_input = make_dense(input.sizes(), type);
  const Tensor affine = make_dense({2, rows.columns}, type);
  if (input.numel() == 0) {
    affine.zero_();
  } else {
    mudnn::layer_norm_backward(
        rows.of(grad_input),
        affine.select(0, 0),
        affine.select(0, 1),
        rows.of(grad_out.to(type)),
        rows.of(input.to(type)),
        mean.contiguous().view({rows.rows, 1}),
        rstd.contiguous().view({rows.rows, 1}),
        row_of(gamma, type));
  }
  const auto finish = [&](int64_t index) {
    return affine.select(0, index)
        .view(normalized_shape)
        .to(gamma.defined() ? gamma.scalar_type() : input.scalar_type());
  };
  return {
      output_mask[0] ? grad_input.to(input.scalar_type()) : Tensor(),
      output_mask[1] ? finish(0) : Tensor(),
      output_mask[2] ? finish(1) : Tensor()};
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&native_layer_norm>("native_layer_norm");
  registrar.native<&native_layer_norm_backward>("native_layer_norm_backward");
}

} // namespace torch_fl::ops
