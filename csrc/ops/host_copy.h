// SPDX-License-Identifier: Apache-2.0
// The last resort of copies within a device: through the host.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_fl::ops {

// Copies with the CPU's conversion; waits for the device.
void copy_through_host(const at::Tensor& dst, const at::Tensor& src);

// A CPU tensor with the same sizes, strides and values; waits for the device.
at::Tensor span_on_host(const at::Tensor& tensor);

// Writes such a tensor's memory back into the one it was read from.
void write_span(const at::Tensor& tensor, const at::Tensor& host);

} // namespace torch_fl::ops
