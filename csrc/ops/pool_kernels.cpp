// SPDX-License-Identifier: Apache-2.0
// Pooling by device kernels of ours.
#include "csrc/ops/pool.h"

#include "csrc/ops/images.h"
#include "csrc/ops/kernel_operands.h"

#include <algorithm>

namespace torch_fl::ops {

using at::IntArrayRef;
using at::Tensor;

bool kernel_pools_maximum(at::ScalarType type) {
  return has_kernel_type(type) && type != at::kBool;
}

bool kernel_pools_average(at::ScalarType type) {
  return kernel_pools_gradient(type) || type == at::kLong;
}

bool kernel_pools_gradient(at::ScalarType type) {
  return has_kernel_type(type) && at::isFloatingType(type);
}

FlWindows adaptive_windows() {
  FlWindows windows{};
  windows.kind = kFlAdaptiveWindows;
  std::fill_n(windows.kernel, 3, 1);
  std::fill_n(windows.stride, 3, 1);
  std::fill_n(windows.dilation, 3, 1);
  return windows;
}

FlWindows stepped_windows(
    int64_t spatial,
    IntArrayRef kernel,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation) {
  FlWindows windows = adaptive_windows();
  windows.kind = kFlSteppedWindows;
  const auto fill = [spatial](int32_t* to, IntArrayRef values) {
    for (int64_t i = 0; i < spatial; ++i) {
      const size_t from = values.size() == 1 ? 0 : static_cast<size_t>(i);
      to[3 - spatial + i] = static_cast<int32_t>(values[from]);
    }
  };
  fill(windows.kernel, kernel);
  fill(windows.stride, stride.empty() ? kernel : stride);
  fill(windows.padding, padding);
  fill(windows.dilation, dilation);
  return windows;
}

FlWindows average_windows(
    int64_t spatial,
    IntArrayRef kernel,
    IntArrayRef stride,
    IntArrayRef padding,
    bool count_padding,
    std::optional<int64_t> divisor) {
  TORCH_CHECK(
      !divisor.has_value() || *divisor != 0,
      "divisor must be not zero");
  FlWindows windows = stepped_windows(spatial, kernel, stride, padding, 1);
  windows.count_padding = count_padding ? 1 : 0;
  windows.divisor = divisor.value_or(0);
  return windows;
}

void kernel_max_pool(
    const Tensor& out,
    const Tensor& indices,
    const Tensor& in,
    int64_t spatial,
    const FlWindows& windows) {
  if (out.numel() == 0) {
    return;
  }
  const FlImage result = image_output(out, spatial);
  const FlImage positions = image_output(indices, spatial);
  const FlImage image = image_of(in, spatial);
  FL_MUSA_CHECK(fl_max_pool(
      kernel_type(in.scalar_type()),
      &result,
      &positions,
      &image,
      &windows,
      kernel_stream()));
}

void kernel_max_pool_backward(
    const Tensor& grad_in,
    const Tensor& grad_out,
    const Tensor& indices,
    int64_t spatial,
    const FlWindows& windows) {
  if (grad_in.numel() == 0) {
    return;
  }
  if (grad_out.numel() == 0) {
    grad_in.zero_();
    return;
  }
  const FlImage result = image_output(grad_in, spatial);
  const FlImage gradient = image_of(grad_out, spatial);
  const FlImage positions = image_of(indices, spatial);
  FL_MUSA_CHECK(fl_max_pool_backward(
      kernel_type(grad_in.scalar_type()),
      &result,
      &gradient,
      &positions,
      &windows,
      kernel_stream()));
}

void kernel_average_pool(
    const Tensor& out,
    const Tensor& in,
    int64_t spatial,
    const FlWindows& windows) {
  if (out.numel() == 0) {
    return;
  }
  const FlImage result = image_output(out, spatial);
  const FlImage image = image_of(in, spatial);
  FL_MUSA_CHECK(fl_average_pool(
      kernel_type(in.scalar_type()),
      &result,
      &image,
      &windows,
      kernel_stream()));
}

void kernel_average_pool_backward(
    const Tensor& grad_in,
    const Tensor& grad_out,
    int64_t spatial,
    const FlWindows& windows) {
  if (grad_in.numel() == 0) {
    return;
  }
  if (grad_out.numel() == 0) {
    grad_in.zero_();
    return;
  }
  const FlImage result = image_output(grad_in, spatial);
  const FlImage gradient = image_of(grad_out, spatial);
  FL_MUSA_CHECK(fl_average_pool_backward(
      kernel_type(grad_in.scalar_type()),
      &result,
      &gradient,
      &windows,
      kernel_stream()));
}

} // namespace torch_fl::ops
