// SPDX-License-Identifier: Apache-2.0
// Complex numbers, where device kernels are built: complex_kernels.cpp or,
// without them, complex_without_kernels.cpp.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace torch_fl::ops {

enum class ComplexOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kConj,
  kNeg,
  kReciprocal,
  kSgn,
};
// To and from other types: real of a complex number, BOOL of two.
enum class ComplexTo : uint8_t { kAbs, kAngle, kEqual, kNotEqual };

// Whether the device computes with complex numbers of the iterator's sizes.
bool computes_complex(at::TensorIteratorBase& iter, at::ScalarType type);

// Operands are converted to `type` first, and the result from it. alpha: what
// the second operand of a sum is multiplied by.
void compute_complex(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    ComplexOp op,
    const at::Scalar& alpha = 1);
void compute_complex(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    ComplexTo op);

// A structured class of two operands, or one, and complex numbers beside it.
template <class Base, auto op>
struct WithComplex : Base {
  bool accepts(const at::Tensor& self, const at::Tensor& other) {
    return computes_complex(*this, this->common_dtype()) ||
        Base::accepts(self, other);
  }
  void
  impl(const at::Tensor& self, const at::Tensor& other, const at::Tensor& out) {
    if (c10::isComplexType(this->common_dtype())) {
      compute_complex(*this, this->common_dtype(), op);
    } else {
      Base::impl(self, other, out);
    }
  }
};
template <class Base, ComplexOp op>
struct WithComplexOne : Base {
  bool accepts(const at::Tensor& self) {
    return computes_complex(*this, this->common_dtype()) || Base::accepts(self);
  }
  void impl(const at::Tensor& self, const at::Tensor& out) {
    if (c10::isComplexType(this->common_dtype())) {
      compute_complex(*this, this->common_dtype(), op);
    } else {
      Base::impl(self, out);
    }
  }
};
// The same beside a number.
template <class Base, ComplexTo op>
struct WithComplexNumber : Base {
  bool accepts(const at::Tensor& self, const at::Scalar& other) {
    return computes_complex(*this, this->common_dtype()) ||
        Base::accepts(self, other);
  }
  void
  impl(const at::Tensor& self, const at::Scalar& other, const at::Tensor& out) {
    if (c10::isComplexType(this->common_dtype())) {
      compute_complex(*this, this->common_dtype(), op);
    } else {
      Base::impl(self, other, out);
    }
  }
};

} // namespace torch_fl::ops
