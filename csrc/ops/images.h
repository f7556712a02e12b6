// SPDX-License-Identifier: Apache-2.0
// Tensors as images for the device kernels that take them.
#pragma once

#include "csrc/kernels/image.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>

namespace torch_fl::ops {

// `spatial` dimensions at the end, channels before them, and a batch if there
// is one more. The kernel reads it.
inline FlImage image_of(const at::Tensor& tensor, int64_t spatial) {
  FlImage image{
      const_cast<void*>(tensor.unsafeGetTensorImpl()->data()),
      {1, 1, 1, 1, 1},
      {0, 0, 0, 0, 0}};
  const int64_t rank = tensor.dim();
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t from_end = rank - d;
    const int64_t at =
        from_end <= spatial ? 5 - from_end : 1 - (from_end - spatial - 1);
    TORCH_CHECK_NOT_IMPLEMENTED(
        tensor.size(d) <= std::numeric_limits<int32_t>::max(),
        "images of flagos have fewer than 2^31 elements in a dimension, got ",
        tensor.sizes());
    image.sizes[at] = tensor.size(d);
    image.strides[at] = tensor.stride(d);
  }
  return image;
}

// The kernel writes it.
inline FlImage image_output(const at::Tensor& tensor, int64_t spatial) {
  static_cast<void>(tensor.unsafeGetTensorImpl()->mutable_data());
  return image_of(tensor, spatial);
}

} // namespace torch_fl::ops
