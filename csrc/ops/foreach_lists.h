// SPDX-License-Identifier: Apache-2.0
// Which lists of tensors one launch takes.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_fl::ops {

// Tensors of one floating dtype on one device of flagos, without gaps.
bool one_launch_takes(at::TensorList self);

} // namespace torch_fl::ops
