// SPDX-License-Identifier: Apache-2.0
// New device tensors without a trip through the dispatcher.
#pragma once

#include "csrc/runtime/export.h"

#include <ATen/core/Tensor.h>

namespace torch_fl::ops {

// A row-major tensor of the current device.
FL_API at::Tensor make_dense(at::IntArrayRef sizes, at::ScalarType dtype);

// A tensor of the current device with these strides; empty strides mean the
// memory format of `options`, or row-major.
FL_API at::Tensor make_strided(
    at::IntArrayRef sizes,
    at::IntArrayRef strides,
    const at::TensorOptions& options);

// Row-major tensor of the shape and dtype of `like`, on the current device.
inline at::Tensor make_dense_like(const at::Tensor& like) {
  return make_dense(like.sizes(), like.scalar_type());
}

// Writes a result that was computed elsewhere into the tensor asked for.
FL_API void copy_back(const at::Tensor& destination, const at::Tensor& source);

// Throws torch's "Expected all tensors to be on the same device" unless both
// are on one device; undefined tensors are left out.
FL_API void check_same_device(const at::Tensor& first, const at::Tensor& other);

// Throws unless an `out` tensor has this dtype and is on the device of `like`.
FL_API void
check_out(const at::Tensor& out, at::ScalarType dtype, const at::Tensor& like);

} // namespace torch_fl::ops
