// SPDX-License-Identifier: Apache-2.0
// A torch tensor as a muDNN descriptor: type, address, sizes, strides.
#pragma once

#include "csrc/mudnn/dtype.h"
#include "csrc/mudnn/status.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace torch_fl::mudnn {

// Fills `view` from `tensor`. Rank 0 becomes [1] (quirk 1); strides are kept,
// zeros included; the storage offset goes into the address. Reads the address
// without materialising a lazily copied storage: call `writable` for outputs.
inline void describe(::musa::dnn::Tensor& view, const at::Tensor& tensor) {
  const auto rank = static_cast<int>(tensor.dim());
  TORCH_CHECK_NOT_IMPLEMENTED(
      rank <= 8,
      "muDNN takes at most 8 dimensions, got ",
      rank);
  FL_MUDNN_CHECK(view.SetType(required_dnn_type(tensor.scalar_type())));
  FL_MUDNN_CHECK(view.SetAddr(tensor.unsafeGetTensorImpl()->data()));
  if (rank == 0) {
    const int64_t one = 1;
    FL_MUDNN_CHECK(view.SetNdInfo(1, &one));
  } else if (tensor.is_contiguous()) {
    FL_MUDNN_CHECK(view.SetNdInfo(rank, tensor.sizes().data()));
  } else {
    FL_MUDNN_CHECK(
        view.SetNdInfo(rank, tensor.sizes().data(), tensor.strides().data()));
  }
}

// The descriptor of an input.
inline ::musa::dnn::Tensor view(const at::Tensor& tensor) {
  ::musa::dnn::Tensor made;
  describe(made, tensor);
  return made;
}

// The descriptor of an output: materialises a lazily copied storage first.
inline ::musa::dnn::Tensor writable(const at::Tensor& tensor) {
  static_cast<void>(tensor.unsafeGetTensorImpl()->mutable_data());
  return view(tensor);
}

} // namespace torch_fl::mudnn
