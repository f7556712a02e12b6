// SPDX-License-Identifier: Apache-2.0
// Lists of tensors, and numbers of one element, as our kernels take them.
#pragma once

#include "csrc/kernels/operands.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <optional>

namespace torch_fl::ops {

inline const void* address_of(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->data();
}

// A scalar that a kernel reads on the device.
inline const float* flag_of(
    const char* op,
    const char* name,
    const std::optional<at::Tensor>& tensor,
    at::Device device) {
  if (!tensor.has_value() || !tensor->defined()) {
    return nullptr;
  }
  TORCH_CHECK(
      tensor->device() == device && tensor->scalar_type() == at::kFloat &&
          tensor->numel() == 1,
      op,
      ": ",
      name,
      " must be one float on ",
      device,
      ", got ",
      tensor->numel(),
      " of ",
      tensor->scalar_type(),
      " on ",
      tensor->device());
  return static_cast<const float*>(address_of(*tensor));
}

// f(lists, first) for portions that one launch takes.
template <class F>
void by_portions(at::ArrayRef<at::TensorList> lists, const F& f) {
  const size_t total = lists.begin()->size();
  for (size_t first = 0; first < total; first += kFlListTensors) {
    FlTensors portion{};
    portion.count =
        static_cast<int32_t>(std::min<size_t>(kFlListTensors, total - first));
    for (int t = 0; t < portion.count; ++t) {
      const size_t at = first + static_cast<size_t>(t);
      portion.numel[t] = (*lists.begin())[at].numel();
      int which = 0;
      for (const at::TensorList list : lists) {
        portion.address[which++][t] = const_cast<void*>(address_of(list[at]));
      }
    }
    f(portion, first);
  }
}

} // namespace torch_fl::ops
