// SPDX-License-Identifier: Apache-2.0
// Two-dimensional pooling: maximum and average. Dtypes that muDNN refuses run
// on kernels of ours.
#include "csrc/ops/pool.h"
#include "csrc/mudnn/pooling.h"
#include "csrc/ops/pool_images.h"
#include "csrc/ops/structured.h"
#include "csrc/routing/register.h"

#include <ATen/ops/avg_pool2d_backward_meta.h>
#include <ATen/ops/avg_pool2d_meta.h>
#include <ATen/ops/max_pool2d_with_indices_backward_meta.h>
#include <ATen/ops/max_pool2d_with_indices_meta.h>

#include <array>
#include <optional>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::MemoryFormat;
using at::Tensor;

std::array<int, 2> pair_of(IntArrayRef values) {
  return {
      static_cast<int>(values[0]),
      static_cast<int>(values.size() == 1 ? values[0] : values[1])};
}

mudnn::Window window_of(
    IntArrayRef kernel,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation) {
  mudnn::Window window;
  window.kernel = pair_of(kernel);
  window.stride = stride.empty() ? window.kernel : pair_of(stride);
  window.padding = pair_of(padding);
  window.dilation = pair_of(dilation);
  return window;
}

struct MaxPool : at::meta::structured_max_pool2d_with_indices {
  static bool accepts(
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*stride*/,
      IntArrayRef /*padding*/,
      IntArrayRef /*dilation*/,
      bool /*ceil_mode*/) {
    return takes_maximum(self);
  }
  // ceil_mode shows in the sizes of `out` alone.
  void impl(
      const Tensor& self,
      IntArrayRef kernel,
      IntArrayRef stride,
      IntArrayRef padding,
      IntArrayRef dilation,
      bool /*ceil_mode*/,
      const Tensor& out,
      const Tensor& indices) {
    if (out.numel() == 0) {
      return;
    }
    if (!mudnn::can_pool(self.scalar_type())) {
      kernel_max_pool(
          out,
          indices,
          self,
          2,
          stepped_windows(2, kernel, stride, padding, dilation));
      return;
    }
    const MemoryFormat layout = layout_of(self);
    const Output values(out, layout);
    const Output positions(indices, layout);
    mudnn::max_pool(
        values.tensor(),
        positions.tensor(),
        batched(self).contiguous(layout),
        window_of(kernel, stride, padding, dilation),
        layout);
    values.finish();
    positions.finish();
  }
};

struct MaxPoolBackward : at::meta::structured_max_pool2d_with_indices_backward {
  static bool accepts(
      const Tensor& /*grad*/,
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*stride*/,
      IntArrayRef /*padding*/,
      IntArrayRef /*dilation*/,
      bool /*ceil_mode*/,
      const Tensor& /*indices*/) {
    return takes_gradient(self);
  }
  // NOLINTNEXTLINE(readability-function-size): the schema's arguments
  void impl(
      const Tensor& grad,
      const Tensor& self,
      IntArrayRef kernel,
      IntArrayRef stride,
      IntArrayRef padding,
      IntArrayRef dilation,
      bool /*ceil_mode*/,
      const Tensor& indices,
      const Tensor& grad_input) {
    if (grad_input.numel() == 0) {
      return;
    }
    if (grad.numel() == 0) {
      grad_input.zero_();
      return;
    }
    if (!mudnn::can_pool(self.scalar_type())) {
      kernel_max_pool_backward(
          grad_input,
          grad,
          indices,
          2,
          stepped_windows(2, kernel, stride, padding, dilation));
      return;
    }
    const MemoryFormat layout = layout_of(self);
    const Output result(grad_input, layout);
    mudnn::max_pool_backward(
        result.tensor(),
        batched(grad).contiguous(layout),
        batched(indices).contiguous(layout),
        window_of(kernel, stride, padding, dilation),
        layout);
    result.finish();
  }
};

mudnn::Average average_of(
    IntArrayRef kernel,
    IntArrayRef stride,
    IntArrayRef padding,
    bool count_padding,
    std::optional<int64_t> divisor) {
  TORCH_CHECK(
      !divisor.has_value() || *divisor != 0,
      "divisor must be not zero");
  mudnn::Average average;
  average.window = window_of(kernel, stride, padding, 1);
  average.count_padding = count_padding;
  average.divisor = static_cast<int>(divisor.value_or(0));
  return average;
}

struct AveragePool : at::meta::structured_avg_pool2d {
  static bool accepts(
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*stride*/,
      IntArrayRef /*padding*/,
      bool /*ceil_mode*/,
      bool /*count_padding*/,
      std::optional<int64_t> /*divisor*/) {
    return takes_average(self);
  }
  void impl(
      const Tensor& self,
      IntArrayRef kernel,
      IntArrayRef stride,
      IntArrayRef padding,
      bool /*ceil_mode*/,
      bool count_padding,
      std::optional<int64_t> divisor,
      const Tensor& out) {
    const mudnn::Average average =
        average_of(kernel, stride, padding, count_padding, divisor);
    if (out.numel() == 0) {
      return;
    }
    if (!mudnn::can_pool(self.scalar_type())) {
      kernel_average_pool(
          out,
          self,
          2,
          average_windows(2, kernel, stride, padding, count_padding, divisor));
      return;
    }
    const MemoryFormat layout = layout_of(self);
    const Output result(out, layout);
    mudnn::average_pool(
        result.tensor(),
        batched(self).contiguous(layout),
        average,
        layout);
    result.finish();
  }
};

struct AveragePoolBackward : at::meta::structured_avg_pool2d_backward {
  static bool accepts(
      const Tensor& /*grad*/,
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*stride*/,
      IntArrayRef /*padding*/,
      bool /*ceil_mode*/,
      bool /*count_padding*/,
      std::optional<int64_t> /*divisor*/) {
    return takes_gradient(self);
  }
  // NOLINTNEXTLINE(readability-function-size): the schema's arguments
  void impl(
      const Tensor& grad,
      const Tensor& self,
      IntArrayRef kernel,
      IntArrayRef stride,
      IntArrayRef padding,
      bool /*ceil_mode*/,
      bool count_padding,
      std::optional<int64_t> divisor,
      const Tensor& grad_input) {
    const mudnn::Average average =
        average_of(kernel, stride, padding, count_padding, divisor);
    if (grad_input.numel() == 0) {
      return;
    }
    if (grad.numel() == 0) {
      grad_input.zero_();
      return;
    }
    if (!mudnn::can_pool(self.scalar_type())) {
      kernel_average_pool_backward(
          grad_input,
          grad,
          2,
          average_windows(2, kernel, stride, padding, count_padding, divisor));
      return;
    }
    const MemoryFormat layout = layout_of(self);
    average_backward(
        grad,
        grad_input,
        layout,
        [&](const Tensor& result, const Tensor& gradient) {
          mudnn::average_pool_backward(result, gradient, average, layout);
        });
  }
};

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  structured<MaxPool>(
      registrar,
      "max_pool2d_with_indices",
      nullptr,
      "max_pool2d_with_indices.out");
  structured<MaxPoolBackward>(
      registrar,
      "max_pool2d_with_indices_backward",
      nullptr,
      "max_pool2d_with_indices_backward.grad_input");
  structured<AveragePool>(registrar, "avg_pool2d", nullptr, "avg_pool2d.out");
  structured<AveragePoolBackward>(
      registrar,
      "avg_pool2d_backward",
      nullptr,
      "avg_pool2d_backward.grad_input");
}

} // namespace torch_fl::ops
