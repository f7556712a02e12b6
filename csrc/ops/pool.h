// SPDX-License-Identifier: Apache-2.0
// Pooling by device kernels of ours: pool_kernels.cpp or, where none are built,
// pool_without_kernels.cpp, which takes no dtype.
#pragma once

#include "csrc/kernels/pool.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>

namespace torch_fl::ops {

// Dtypes of the maxima, of the averages, and of the backward passes.
bool kernel_pools_maximum(at::ScalarType type);
bool kernel_pools_average(at::ScalarType type);
bool kernel_pools_gradient(at::ScalarType type);

FlWindows adaptive_windows();
// One value counts for all dimensions; an empty stride is the kernel's.
FlWindows stepped_windows(
    int64_t spatial,
    at::IntArrayRef kernel,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation);
// Throws for a divisor of 0.
FlWindows average_windows(
    int64_t spatial,
    at::IntArrayRef kernel,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    bool count_padding,
    std::optional<int64_t> divisor);

// Tensors have any strides, and a batch or none; outputs without elements are
// left alone, gradients of no elements are zeros.
void kernel_max_pool(
    const at::Tensor& out,
    const at::Tensor& indices,
    const at::Tensor& in,
    int64_t spatial,
    const FlWindows& windows);
void kernel_max_pool_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const at::Tensor& indices,
    int64_t spatial,
    const FlWindows& windows);
void kernel_average_pool(
    const at::Tensor& out,
    const at::Tensor& in,
    int64_t spatial,
    const FlWindows& windows);
void kernel_average_pool_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    int64_t spatial,
    const FlWindows& windows);

} // namespace torch_fl::ops
