// SPDX-License-Identifier: Apache-2.0
// Maximum, average and adaptive average pooling through muDNN.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace torch_fl::mudnn {

struct Window {
  std::array<int, 2> kernel = {1, 1};
  std::array<int, 2> padding = {0, 0};
  std::array<int, 2> stride = {1, 1};
  std::array<int, 2> dilation = {1, 1};
};

// Dtypes of the forward passes, and of the average's backward pass.
bool can_pool(at::ScalarType type);
bool can_average_backward(at::ScalarType type);

// All operands are rank 4 and dense in `layout`; indices are int64 positions
// within an image of one channel, as torch counts them.
void max_pool(
    const at::Tensor& out,
    const at::Tensor& indices,
    const at::Tensor& in,
    const Window& window,
    at::MemoryFormat layout);
void max_pool_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const at::Tensor& indices,
    const Window& window,
    at::MemoryFormat layout);

// The inverse: out[n, c][indices[n, c, i]] = in[n, c, i], all row-major and not
// empty, of any dtype; elements that no index names are left alone. Of equal
// indices any may win (quirk 73); one outside of the image is the device's
// error.
void max_unpool(
    const at::Tensor& out,
    const at::Tensor& in,
    const at::Tensor& indices,
    int64_t planes);

// divisor 0: the number of elements of the window, its padding included or not.
struct Average {
  Window window;
  bool count_padding = true;
  int divisor = 0;
};
void average_pool(
    const at::Tensor& out,
    const at::Tensor& in,
    const Average& average,
    at::MemoryFormat layout);
void average_pool_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const Average& average,
    at::MemoryFormat layout);

// Windows follow from the sizes of both sides.
void adaptive_max_pool(
    const at::Tensor& out,
    const at::Tensor& indices,
    const at::Tensor& in,
    at::MemoryFormat layout);
void adaptive_max_pool_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const at::Tensor& indices,
    at::MemoryFormat layout);
void adaptive_average_pool(
    const at::Tensor& out,
    const at::Tensor& in,
    at::MemoryFormat layout);
void adaptive_average_pool_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    at::MemoryFormat layout);

} // namespace torch_fl::mudnn
