// SPDX-License-Identifier: Apache-2.0
// Strided copies and dtype casts within one device, in one pass.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_fl::mudnn {

// Whether copy() takes this pair: equal types of any kind, or two that muDNN
// knows, or a complex one beside those.
bool can_copy(at::ScalarType to, at::ScalarType from);

// Equal sizes, one device; any strides, zeros in `src` included. Throws torch's
// error if both share some memory.
void copy(const at::Tensor& dst, const at::Tensor& src);

// tensor = -tensor.
void negate(const at::Tensor& tensor);

} // namespace torch_fl::mudnn
