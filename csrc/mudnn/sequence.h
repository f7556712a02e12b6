// SPDX-License-Identifier: Apache-2.0
// Numbers in sequence, for which muDNN has no class: a running sum makes them.
#pragma once

#include "csrc/mudnn/operands.h"

namespace torch_fl::mudnn {

// out[i] = start + i * step, any strides; integers are exact.
void arange(const at::Tensor& out, const Number& start, const Number& step);

// Running sum or product along a dimension; equal dtypes and sizes.
void cumulate(
    const at::Tensor& out,
    const at::Tensor& in,
    int64_t dim,
    bool product);

} // namespace torch_fl::mudnn
