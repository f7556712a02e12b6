// SPDX-License-Identifier: Apache-2.0
// Sorting and selecting on muDNN, whose classes want dense operands.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_fl::mudnn {

// All three row-major, of in's sizes and not empty; values of in's dtype,
// indices INT64. Equal elements keep their order (quirk 39); NaN is the
// largest.
void sort(
    const at::Tensor& values,
    const at::Tensor& indices,
    const at::Tensor& in,
    int64_t dim,
    bool descending);

// Whether TopK takes a dtype (quirk 38).
bool selects(at::ScalarType type);

// The k largest or smallest along a dimension, k > 0; row-major operands.
struct Selection {
  int64_t k;
  int64_t dim;
  bool largest;
  bool sorted;
};
void select(
    const at::Tensor& values,
    const at::Tensor& indices,
    const at::Tensor& in,
    const Selection& what);

} // namespace torch_fl::mudnn
