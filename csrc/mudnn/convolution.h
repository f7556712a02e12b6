// SPDX-License-Identifier: Apache-2.0
// Convolution in two and three dimensions and its gradients through muDNN.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace torch_fl::mudnn {

struct ConvGeometry {
  int spatial = 2; // or 3; the arrays' first ones count
  std::array<int, 3> padding = {0, 0, 0};
  std::array<int, 3> stride = {1, 1, 1};
  std::array<int, 3> dilation = {1, 1, 1};
  int groups = 1;
};

// Whether Convolution takes a dtype (quirk 54: it refuses doubles).
bool can_convolve(at::ScalarType type);

// All operands of the three have rank spatial + 2, one dtype, and are dense in
// one layout.

// out = convolution of in with the filter.
void convolve(
    const at::Tensor& out,
    const at::Tensor& in,
    const at::Tensor& filter,
    const ConvGeometry& geometry,
    at::MemoryFormat layout);

// The gradient of `in`; also the transposed convolution of grad_out. Paddings
// reach no further than the filter does.
void convolve_backward_data(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const at::Tensor& filter,
    const ConvGeometry& geometry,
    at::MemoryFormat layout);

void convolve_backward_filter(
    const at::Tensor& grad_filter,
    const at::Tensor& in,
    const at::Tensor& grad_out,
    const ConvGeometry& geometry,
    at::MemoryFormat layout);

// out[n, c, ...] += bias[c], rank 4 or 5, any strides.
void add_channel_bias(const at::Tensor& out, const at::Tensor& bias);

// grad_bias[c] = sum of grad_out over all other dimensions; grad_out has rank
// 4 or 5 and is dense in `layout`.
void sum_to_channels(
    const at::Tensor& grad_bias,
    const at::Tensor& grad_out,
    at::MemoryFormat layout);

// Configurations that have a chosen algorithm so far (for tests).
size_t convolution_cache_size();

} // namespace torch_fl::mudnn
