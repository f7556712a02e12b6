// SPDX-License-Identifier: Apache-2.0
// Sorted rows, for the families that search in them.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_fl::ops {

// Whether muDNN sorts a dtype, BOOL as bytes.
bool sorts(at::ScalarType type);

// Row-major values and INT64 places; equal elements keep their order, NaN is
// the largest. `in` has at least one dimension.
struct Sorted {
  at::Tensor values;
  at::Tensor indices;
};
Sorted sorted_along(const at::Tensor& in, int64_t dim, bool descending = false);

// The same with the dimension moved to the end: rows of `n` elements.
struct SortedRows {
  at::Tensor values; // [..., n]
  at::Tensor indices;
  int64_t rows;
  int64_t n;
};
SortedRows sorted_rows(const at::Tensor& in, int64_t dim);

// The results of a reduction with places: out= tensors of the right dtypes,
// resized.
void resize_with_places(
    const at::Tensor& self,
    int64_t dim,
    bool keepdim,
    at::Tensor& values,
    at::Tensor& indices);

} // namespace torch_fl::ops
