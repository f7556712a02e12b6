// SPDX-License-Identifier: Apache-2.0
// Dropout through muDNN.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace torch_fl::mudnn {

// Whether Dropout takes a dtype.
bool can_drop(at::ScalarType type);

// Where a sequence is read. With words, seed and offset stand there on the
// device, and `offset` is added to theirs.
struct SequencePlace {
  uint64_t seed;
  uint64_t offset;
  uint64_t* words;
};

// Operands dense in one order of dimensions; mask is BOOL, true where an
// element stays and is scaled by 1 / (1 - p). One word of the sequence per
// element.
void dropout(
    const at::Tensor& out,
    const at::Tensor& mask,
    const at::Tensor& in,
    double p,
    const SequencePlace& place);

void dropout_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const at::Tensor& mask,
    double scale);

} // namespace torch_fl::mudnn
