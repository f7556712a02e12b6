// SPDX-License-Identifier: Apache-2.0
// Copies within one device, any strides and dtypes: on muDNN, or through the
// host where muDNN cannot or is not built in.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_fl::ops {

// Whether the device converts between these itself.
bool device_converts(at::ScalarType to, at::ScalarType from);

// Same sizes, same device, no conj or neg bits, different dtypes or strides.
void copy_within_device(const at::Tensor& dst, const at::Tensor& src);

// Negates in place (the imaginary parts for conj): resolves those bits.
void negate_in_place(const at::Tensor& tensor);

} // namespace torch_fl::ops
