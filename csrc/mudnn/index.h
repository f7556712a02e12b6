// SPDX-License-Identifier: Apache-2.0
// Gathering, joining and selecting on muDNN, whose classes want dense operands.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>

#include <vector>

namespace torch_fl::mudnn {

// Joins `parts` (none of them empty, all of out's dtype) along `dim`.
void concat(
    const at::Tensor& out,
    const std::vector<at::Tensor>& parts,
    int64_t dim);
// The same where all are dense.
void concat_dense(
    const at::Tensor& out,
    const at::ITensorListRef& parts,
    int64_t dim);

// out[..., i, ...] = in[..., index[i], ...]; index has one dimension.
void gather_slices(
    const at::Tensor& out,
    const at::Tensor& in,
    int64_t dim,
    const at::Tensor& index);

// torch.gather: out and index have one shape.
void gather_elements(
    const at::Tensor& out,
    const at::Tensor& in,
    int64_t dim,
    const at::Tensor& index);

// self[..., index[i], ...] = update[i], or += it: `update` has index's shape,
// which fits into self's outside `dim`. Of equal places any update wins, and
// sums are added in any order.
void scatter_update(
    const at::Tensor& self,
    int64_t dim,
    const at::Tensor& index,
    const at::Tensor& update);
void scatter_add(
    const at::Tensor& self,
    int64_t dim,
    const at::Tensor& index,
    const at::Tensor& update);

// Coordinates of what is not 0: [count, rank]. Waits for the count.
at::Tensor nonzero(const at::Tensor& in);

// What the BOOL mask of the same shape selects. Waits for the count.
at::Tensor masked_select(const at::Tensor& in, const at::Tensor& mask);

} // namespace torch_fl::mudnn
