// SPDX-License-Identifier: Apache-2.0
// Bits of integers, where device kernels are built: bits_kernels.cpp or,
// without them, bits_without_kernels.cpp.
#pragma once

#include <ATen/TensorIterator.h>

namespace torch_fl::ops {

enum class Bits : uint8_t { kAnd, kOr, kXor, kShiftLeft, kShiftRight };

// Whether the device computes bits of the iterator's common dtype.
bool computes_bits(at::TensorIteratorBase& iter);

// Operands are converted to the common dtype first, and the result from it.
void binary_bits(at::TensorIteratorBase& iter, Bits op);
void not_bits(at::TensorIteratorBase& iter);

} // namespace torch_fl::ops
