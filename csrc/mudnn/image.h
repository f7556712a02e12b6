// SPDX-License-Identifier: Apache-2.0
// Batches of images in the two dense layouts that muDNN takes.
#pragma once

#include "csrc/mudnn/tensor_view.h"

#include <ATen/core/Tensor.h>
#include <c10/core/MemoryFormat.h>

#include <cstdint>

namespace torch_fl::mudnn {

inline bool is_channels_last(at::MemoryFormat layout) {
  return layout == at::MemoryFormat::ChannelsLast ||
      layout == at::MemoryFormat::ChannelsLast3d;
}

// Describes a tensor of rank 4 or 5 that is dense in `layout`. Channels last is
// NHWC or NDHWC with the sizes in that order: strides under NCHW are refused
// (quirk 53), and so is rank 5 under the formats of rank 4 (52).
inline void describe_image(
    ::musa::dnn::Tensor& view,
    const at::Tensor& tensor,
    at::MemoryFormat layout) {
  using Format = ::musa::dnn::Tensor::Format;
  const bool last = is_channels_last(layout);
  const auto sizes = tensor.sizes();
  const size_t rank = sizes.size();
  int64_t dims[5] = {sizes[0], sizes[1]};
  for (size_t i = 2; i < rank; ++i) {
    dims[last ? i - 1 : i] = sizes[i];
  }
  if (last) {
    dims[rank - 1] = sizes[1];
  }
  const Format flat = last ? Format::NHWC : Format::NCHW;
  const Format deep = last ? Format::NDHWC : Format::NCDHW;
  FL_MUDNN_CHECK(view.SetType(required_dnn_type(tensor.scalar_type())));
  FL_MUDNN_CHECK(view.SetAddr(tensor.unsafeGetTensorImpl()->data()));
  FL_MUDNN_CHECK(view.SetNdInfo(static_cast<int>(rank), dims));
  FL_MUDNN_CHECK(view.SetFormat(rank == 5 ? deep : flat));
}

// The same for an output.
inline void describe_image_output(
    ::musa::dnn::Tensor& view,
    const at::Tensor& tensor,
    at::MemoryFormat layout) {
  static_cast<void>(tensor.unsafeGetTensorImpl()->mutable_data());
  describe_image(view, tensor, layout);
}

} // namespace torch_fl::mudnn
