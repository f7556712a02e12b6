// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax through muDNN.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_fl::mudnn {

enum class SoftmaxKind { Softmax, LogSoftmax };

// Whether muDNN's Softmax takes a dtype, forward and backward.
bool can_softmax(at::ScalarType type);

// Along `dim`, with out's dtype equal to in's. Strides of `out` are free.
void softmax(
    const at::Tensor& out,
    const at::Tensor& in,
    int64_t dim,
    SoftmaxKind kind);

void softmax_backward(
    const at::Tensor& grad_in,
    const at::Tensor& out,
    const at::Tensor& grad_out,
    int64_t dim,
    SoftmaxKind kind);

} // namespace torch_fl::mudnn
