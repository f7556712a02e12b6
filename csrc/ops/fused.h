// SPDX-License-Identifier: Apache-2.0
// What one kernel of ours does where muDNN takes several calls, or none does:
// fused_kernels.cpp or, where no device kernels are built,
// fused_without_kernels.cpp.
#pragma once

#include "csrc/mudnn/operands.h"

#include <ATen/TensorIterator.h>
#include <c10/core/Scalar.h>

namespace torch_fl::ops {

enum class Fused : uint8_t {
  kAddcdiv, // operands 1 + number * 2 / 3
  kAddcmul,
  kExpm1,
  kLerpNumber, // from 1 to 2 by the number
  kLerpTensor, // by 3
  kPower,      // integers only
  kPowerNumber,
};

// Whether a kernel takes operands of the iterator's sizes, computed in `type`.
bool fuses(at::TensorIteratorBase& iter, at::ScalarType type);
// Whether kernels are built: what there is for dense floats of one dtype.
bool fuses_dense();

void fuse(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    Fused op,
    const at::Scalar& number = 1);
void fuse(const mudnn::Operands& dense, Fused op, const at::Scalar& number = 1);

} // namespace torch_fl::ops
