// SPDX-License-Identifier: Apache-2.0
// The operands of an elementwise call as one POD on the stack, made from a
// TensorIterator or, for equal dense tensors, directly.
#pragma once

#include "csrc/mudnn/tensor_view.h"

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <cstdint>

namespace torch_fl::mudnn {

// A number folded out of the operands, exact for int64 and for double.
struct Number {
  double real = 0;
  int64_t integer = 0;

  Number() = default;
  explicit Number(double value)
      : real(value), integer(static_cast<int64_t>(value)) {}
  explicit Number(int64_t value)
      : real(static_cast<double>(value)), integer(value) {}
  explicit Number(const at::Scalar& value)
      : Number(
            value.isFloatingPoint() ? Number(value.toDouble())
                                    : Number(value.toLong())) {}
};

// Sizes run as in torch: the last dimension is the fastest. Strides count
// elements.
struct Operands {
  static constexpr int kMaxOperands = 5;
  static constexpr int kMaxRank = 8;

  void* addr[kMaxOperands];
  at::ScalarType type[kMaxOperands];
  at::ScalarType compute = at::kFloat; // what inputs are converted to
  int count = 0;                       // the output first
  int scalar_at = -1;                  // which operand is the number
  bool flat = false;    // dims[0] elements, all dense: strides unset
  bool matched = false; // every dtype is known to be the right one
  int rank = 0;
  int64_t numel = 0;
  Number scalar;
  int64_t dims[kMaxRank];
  int64_t strides[kMaxOperands][kMaxRank];

  // Arrays stay uninitialised: a quick call touches one entry of each.
  // NOLINTNEXTLINE(modernize-use-equals-default): Operands() would clear all
  Operands() {}
  // Throws NotImplementedError for more than 8 dimensions after merging.
  Operands(at::TensorIteratorBase& iter, at::ScalarType compute);

  C10_ALWAYS_INLINE void put(const at::Tensor& tensor, at::ScalarType dtype) {
    addr[count] = tensor.unsafeGetTensorImpl()->mutable_data();
    type[count++] = dtype;
  }
  // An input must not materialise a lazily copied storage.
  C10_ALWAYS_INLINE void get(const at::Tensor& tensor, at::ScalarType dtype) {
    const c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
    const auto* const base =
        static_cast<const char*>(impl->unsafe_storage().data());
    addr[count] = const_cast<char*>(base) +
        impl->storage_offset() * static_cast<int64_t>(impl->itemsize());
    type[count++] = dtype;
  }
  void get(const Number& number) {
    scalar_at = count++;
    scalar = number;
  }
  // Equal dense operands whose dtypes are those that the operation wants.
  void dense(int64_t elements, at::ScalarType computed_in) {
    compute = computed_in;
    matched = true;
    flat = true;
    rank = 1;
    numel = elements;
    dims[0] = elements;
  }

  C10_ALWAYS_INLINE void describe(::musa::dnn::Tensor& view, int operand)
      const {
    FL_MUDNN_CHECK(view.SetType(required_dnn_type(type[operand])));
    FL_MUDNN_CHECK(view.SetAddr(addr[operand]));
    if (C10_LIKELY(flat)) {
      FL_MUDNN_CHECK(view.SetNdInfo(1, dims));
    } else {
      FL_MUDNN_CHECK(view.SetNdInfo(rank, dims, strides[operand]));
    }
  }
};

} // namespace torch_fl::mudnn
