// SPDX-License-Identifier: Apache-2.0
// Counts and sums by number, for the files of this family.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_fl::ops {

// How many of the sorted integers are 0, 1, ... bins - 1; INT64.
at::Tensor counts_of(const at::Tensor& sorted, int64_t bins);

// Sums of the weights of the integers that are 0, 1, ... bins - 1, all of which
// are below bins: FLOAT of FLOAT weights, else DOUBLE.
at::Tensor
weights_of(const at::Tensor& self, const at::Tensor& weights, int64_t bins);

} // namespace torch_fl::ops
