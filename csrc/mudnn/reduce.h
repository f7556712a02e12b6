// SPDX-License-Identifier: Apache-2.0
// Reductions on muDNN, around its defects with strides, broadcasts and shapes.
#pragma once

#include "csrc/mudnn/mudnn.h"

#include <ATen/core/Tensor.h>

#include <bitset>

namespace torch_fl::mudnn {

using ReduceMode = ::musa::dnn::Reduce::Mode;
// Which dimensions go; a tensor has at most 64.
using DimMask = std::bitset<64>;

struct ReduceOptions {
  float order = 2;    // NORM
  int correction = 1; // VARIANCE, STD
};

// out = mode over `dims` of in, computed in `compute`: in is converted to it
// before, the result to out's dtype after. in has elements; out has the right
// number of them, its shape (reduced dimensions kept or not) does not matter.
void reduce(
    const at::Tensor& out,
    const at::Tensor& in,
    const DimMask& dims,
    ReduceMode mode,
    at::ScalarType compute,
    const ReduceOptions& options = {});

// The same over everything of a dense `in`, straight into a dense `out` of its
// dtype.
void reduce_dense(const at::Tensor& out, const at::Tensor& in, ReduceMode mode);

// MAX or MIN along one dimension with the place of the result; the first of
// equals wins. `out` may be undefined: places only.
void reduce_with_indices(
    const at::Tensor& out,
    const at::Tensor& indices,
    const at::Tensor& in,
    int64_t dim,
    ReduceMode mode,
    at::ScalarType compute);

} // namespace torch_fl::mudnn
