// SPDX-License-Identifier: Apache-2.0
// Elementwise functions on kernels of ours: which dtypes they take, and how an
// iterator's operands get there.
#pragma once

#include "csrc/kernels/math.h"
#include "csrc/ops/kernel_operands.h"

#include <ATen/TensorIterator.h>
#include <c10/core/Scalar.h>

#include <initializer_list>

namespace torch_fl::ops {

// The numbers of a function, in its order.
FlMath math_numbers(std::initializer_list<at::Scalar> numbers);

// Whether kernels take a dtype: of floats, of integers (BOOL too) or of both.
bool kernel_float(at::ScalarType type);
bool kernel_integer(at::ScalarType type);

// Whether the iterator's operands fit a kernel that computes in `type`.
bool fits_kernel(at::TensorIteratorBase& iter);

// Throws torch's "not implemented for" unless a kernel of floats takes `type`.
void require_floats(const char* name, at::ScalarType type);

// Operand 0 = op(the other operands). Operands of other dtypes are converted to
// `type` first, and the result from it. Nothing happens without elements.
void compute(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    FlUnary op,
    const FlMath& numbers = {});
void compute(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    FlSpecial op,
    const FlMath& numbers = {});
void compute(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    FlBinary op,
    const FlMath& numbers = {});
void compute(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    FlGradient op,
    const FlMath& numbers = {});
void compute(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    FlTernary op,
    const FlMath& numbers = {});
void compute_nextafter(at::TensorIteratorBase& iter);
void compute_signbit(at::TensorIteratorBase& iter, at::ScalarType type);

// out = op(inputs), any strides, sizes that broadcast to out's.
at::TensorIterator iterator_over(
    const at::Tensor& out,
    std::initializer_list<at::Tensor> inputs);

} // namespace torch_fl::ops
