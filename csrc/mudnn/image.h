// SPDX-License-Identifier: Apache-2.0
// Batches of images in the two dense layouts that muDNN takes.
#pragma once

#include "csrc/mudnn/tensor_view.h"

#include <ATen/core/Tensor.h>
#include <c10/core/MemoryFormat.h>

#include <cstdint>

namespace torch_fl::mudnn {

// The layout of a rank-4 tensor that an operator should keep.
inline at::MemoryFormat image_layout(const at::Tensor& tensor) {
  return tensor.suggest_memory_format() == at::MemoryFormat::ChannelsLast
      ? at::MemoryFormat::ChannelsLast
      : at::MemoryFormat::Contiguous;
}

// Describes a rank-4 tensor that is dense in `layout`. Channels last is NHWC
// with the sizes in that order: strides under NCHW are refused (quirk 53).
inline void describe_image(
    ::musa::dnn::Tensor& view,
    const at::Tensor& tensor,
    at::MemoryFormat layout) {
  using Format = ::musa::dnn::Tensor::Format;
  const bool last = layout == at::MemoryFormat::ChannelsLast;
  const auto sizes = tensor.sizes();
  const int64_t dims[4] = {
      sizes[0],
      last ? sizes[2] : sizes[1],
      last ? sizes[3] : sizes[2],
      last ? sizes[1] : sizes[3]};
  FL_MUDNN_CHECK(view.SetType(required_dnn_type(tensor.scalar_type())));
  FL_MUDNN_CHECK(view.SetAddr(tensor.unsafeGetTensorImpl()->data()));
  FL_MUDNN_CHECK(view.SetNdInfo(4, dims));
  FL_MUDNN_CHECK(view.SetFormat(last ? Format::NHWC : Format::NCHW));
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
