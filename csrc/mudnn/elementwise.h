// SPDX-License-Identifier: Apache-2.0
// Elementwise calls on muDNN: one place converts operands that differ in dtype,
// folds numbers into alpha, and sets alpha by the right overload.
#pragma once

#include "csrc/mudnn/operands.h"

namespace torch_fl::mudnn {

using UnaryMode = ::musa::dnn::Unary::Mode;
using BinaryMode = ::musa::dnn::Binary::Mode;
using TernaryMode = ::musa::dnn::Ternary::Mode;

// A binary operation: on two tensors, and with a number on either side.
struct BinaryRow {
  BinaryMode both;
  UnaryMode number_right;
  UnaryMode number_left;
  // Whether the modes with a number exist.
  bool folds_right = true;
  bool folds_left = true;
  // Comparisons and logic write BOOL, the rest what they compute in.
  bool yields_bool = false;
};

// All of them: operand 0 is written, the others are read and converted to
// `compute` first; a result of another dtype than operand 0 is converted after.
// Zero elements return at once.
void unary(
    const Operands& operands,
    UnaryMode mode,
    const Number& alpha = {},
    const Number& beta = {});
// Operand 0 = operand 1 in operand 0's dtype.
void cast_operand(const Operands& operands);
// Yields BOOL whatever it computes in.
void unary_to_bool(
    const Operands& operands,
    UnaryMode mode,
    const Number& alpha = {});
void binary(
    const Operands& operands,
    const BinaryRow& row,
    const Number& alpha = {});
// muDNN's (left, right) are operands `left` and `right`.
void binary_ordered(
    const Operands& operands,
    int left,
    int right,
    BinaryMode mode,
    const Number& alpha = {});
void ternary(
    const Operands& operands,
    TernaryMode mode,
    const Number& alpha = {});
// Operand 1 is the BOOL condition, 2 and 3 are read in `compute`.
void select(const Operands& operands);

// e^x - 1: muDNN has no such mode.
void expm1(const Operands& operands);
// Operand 1 + value * operand 2 * or / operand 3.
void addcmul(const Operands& operands, const Number& value);
void addcdiv(const Operands& operands, const Number& value);
// trunc(operand 1 / operand 2).
void truncated_div(const Operands& operands);
// self + weight * (end - self), torch's two formulas; operands 1 and 2.
void lerp(const Operands& operands, const Number& weight);
// The same with operand 3 as weight.
void lerp_by_tensor(const Operands& operands);

// out = mode(in) between tensors of one shape, any strides.
void unary_tensor(
    const at::Tensor& out,
    const at::Tensor& in,
    UnaryMode mode,
    const Number& alpha = {},
    const Number& beta = {});

// Writes a number everywhere, or where a BOOL mask of the same shape is true.
void fill(const at::Tensor& out, const Number& value);
void fill_masked(
    const at::Tensor& out,
    const at::Tensor& mask,
    const Number& value);

} // namespace torch_fl::mudnn
