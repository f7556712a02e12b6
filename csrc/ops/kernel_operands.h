// SPDX-License-Identifier: Apache-2.0
// Arguments for the device kernels of csrc/kernels.
#pragma once

#include "csrc/kernels/operands.h"
#include "csrc/runtime/error.h"
#include "csrc/runtime/stream.h"

#include <ATen/TensorIterator.h>

namespace torch_fl::ops {

// Whether the kernels have a name for the dtype.
bool has_kernel_type(at::ScalarType type);
// Throws for a dtype without one.
FlKernelType kernel_type(at::ScalarType type);

// Operands of one dtype, at most one of them a CPU number.
// Throws NotImplementedError for more than 8 dimensions after merging.
FlOperands kernel_operands(at::TensorIteratorBase& iter);

// The current stream, as kernels take it.
inline auto kernel_stream() {
  return runtime::current_stream().handle();
}

} // namespace torch_fl::ops
