// SPDX-License-Identifier: Apache-2.0
// Negative log likelihood through muDNN.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_fl::mudnn {

struct NllOptions {
  int64_t reduction = 1; // torch's: 0 none, 1 mean, 2 sum
  int64_t ignore_index = -100;
};

// Whether NLLLoss takes a dtype.
bool can_nll(at::ScalarType type);

// in: dense {N, C}; target: dense int64 {N}; weight: float {C} or undefined;
// out: {N} or one element; total_weight: one element.
void nll_loss(
    const at::Tensor& out,
    const at::Tensor& total_weight,
    const at::Tensor& in,
    const at::Tensor& target,
    const at::Tensor& weight,
    const NllOptions& options);

// Writes all of grad_in.
void nll_loss_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const at::Tensor& target,
    const at::Tensor& weight,
    const at::Tensor& total_weight,
    const NllOptions& options);

} // namespace torch_fl::mudnn
