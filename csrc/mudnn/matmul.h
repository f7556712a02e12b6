// SPDX-License-Identifier: Apache-2.0
// Products through MatMul, BatchMatMul and Dot.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace torch_fl::mudnn {

// Whether the products below take a dtype: floating and integral ones. Small
// integers are multiplied as int64 and cast back, which wraps as torch does.
bool can_multiply(at::ScalarType type);

// out = a @ b, rank 2 (MatMul) or rank 3 (BatchMatMul). Any strides: a
// transposed operand is passed as it is, others are made dense first. Nothing
// is read from `out`. All three have one dtype.
void matmul(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);

// The same for a new dense out of a floating dtype, with elements and a sum to
// make: nothing is left to check.
void matmul_into_new(
    const at::Tensor& out,
    const at::Tensor& a,
    const at::Tensor& b);

// out = beta * self + alpha * a @ b; `self` broadcasts to out, and may be out.
// A beta of 0 ignores what self holds, NaN included.
void matmul_add(
    const at::Tensor& out,
    const at::Tensor& self,
    const at::Tensor& a,
    const at::Tensor& b,
    const at::Scalar& beta,
    const at::Scalar& alpha);

// Whether Dot takes a dtype.
bool can_dot(at::ScalarType type);

// out (rank 0) = sum(a * b), rank 1.
void dot(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);

} // namespace torch_fl::mudnn
