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

// Of a training call: the running ones are updated unless undefined, the saved
// ones are written.
struct BatchStatistics {
  const at::Tensor& running_mean;
  const at::Tensor& running_var;
  const at::Tensor& save_mean;
  const at::Tensor& save_invstd;
};

struct Affine {
  const at::Tensor& weight;
  const at::Tensor& bias;
};

struct BatchNormOptions {
  double momentum;
  double epsilon;
  at::MemoryFormat layout;
};

// Results of the backward passes; all three are written.
struct NormGradients {
  const at::Tensor& input;
  const at::Tensor& weight;
  const at::Tensor& bias;
};

// With the batch's statistics.
void batch_norm_training(
    const at::Tensor& out,
    const at::Tensor& in,
    const BatchStatistics& statistics,
    const Affine& affine,
    const BatchNormOptions& options);

// Gradients through the batch's statistics.
void batch_norm_backward(
    const NormGradients& gradients,
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

void layer_norm_backward(
    const NormGradients& gradients,
    const at::Tensor& grad_out,
    const at::Tensor& in,
    const at::Tensor& mean,
    const at::Tensor& rstd,
    const at::Tensor& weight,
    const RowsOf& rows);

} // namespace torch_fl::mudnn
