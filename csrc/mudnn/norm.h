// SPDX-License-Identifier: Apache-2.0
// Batch and layer normalisation through muDNN.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_fl::mudnn {

// Whether muDNN normalises a dtype; statistics, weight and bias are float.
bool can_normalize(at::ScalarType type);

// Dense operands of rank 4 in one layout; undefined weight and bias are 1, 0.

// With given statistics.
void batch_norm_inference(
    const at::Tensor& out,
    const at::Tensor& in,
    const at::Tensor& mean,
    const at::Tensor& var,
    const at::Tensor& weight,
    const at::Tensor& bias,
    double epsilon,
    at::MemoryFormat layout);

// With the batch's statistics, which it writes to save_mean and save_invstd;
// updates the running ones unless they are undefined.
void batch_norm_training(
    const at::Tensor& out,
    const at::Tensor& in,
    const at::Tensor& running_mean,
    const at::Tensor& running_var,
    const at::Tensor& save_mean,
    const at::Tensor& save_invstd,
    const at::Tensor& weight,
    const at::Tensor& bias,
    double momentum,
    double epsilon,
    at::MemoryFormat layout);

// Gradients through the batch's statistics; all three are written.
void batch_norm_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_weight,
    const at::Tensor& grad_bias,
    const at::Tensor& in,
    const at::Tensor& grad_out,
    const at::Tensor& mean,
    const at::Tensor& invstd,
    const at::Tensor& weight,
    double epsilon,
    at::MemoryFormat layout);

// Dense operands of any shape, seen as rows of so many elements; mean and rstd
// are float, one element a row. Undefined weight and bias are 1 and 0.
struct RowsOf {
  int64_t rows;
  int64_t columns;
};

void layer_norm(
    const at::Tensor& out,
    const at::Tensor& mean,
    const at::Tensor& rstd,
    const at::Tensor& in,
    const at::Tensor& weight,
    const at::Tensor& bias,
    double epsilon,
    const RowsOf& rows);

// All three gradients are written.
void layer_norm_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_weight,
    const at::Tensor& grad_bias,
    const at::Tensor& grad_out,
    const at::Tensor& in,
    const at::Tensor& mean,
    const at::Tensor& rstd,
    const at::Tensor& weight,
    const RowsOf& rows);

} // namespace torch_fl::mudnn
