// SPDX-License-Identifier: Apache-2.0
// What the elementwise families share: which dtypes muDNN takes, and iterators
// for operators without a structured class upstream.
#pragma once

#include "csrc/mudnn/elementwise.h"
#include "csrc/ops/structured.h"

#include <ATen/TensorIterator.h>

namespace torch_fl::ops {

inline bool plain_float(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kHalf ||
      type == at::kBFloat16;
}

// Integers and floats that muDNN computes with; BOOL arithmetic it refuses
// (quirk 12).
inline bool arithmetic(at::ScalarType type) {
  return type != at::kBool && mudnn::has_dnn_type(type);
}

// Whether muDNN reads and writes every operand, and at most one is a number.
inline bool readable(at::TensorIteratorBase& iter) {
  int numbers = 0;
  for (int a = 0; a < iter.ntensors(); ++a) {
    if (a > 0 && iter.is_cpu_scalar(a)) {
      ++numbers;
      if (c10::isComplexType(iter.dtype(a))) {
        return false;
      }
    } else if (!mudnn::has_dnn_type(iter.dtype(a))) {
      return false;
    }
  }
  return numbers <= 1 && iter.ndim() <= mudnn::Operands::kMaxRank;
}

inline bool computes(at::TensorIteratorBase& iter) {
  return arithmetic(iter.common_dtype()) && readable(iter);
}

// One input, the result has its dtype.
struct SameTypeMeta : at::TensorIteratorBase {
  void meta(const at::Tensor& self) {
    build_borrowing_unary_op(maybe_get_output(0), self);
  }
};

// One input, a BOOL result (or whatever dtype a given out= has).
struct TestMeta : at::TensorIteratorBase {
  void meta(const at::Tensor& self) {
    const at::Tensor& out = maybe_get_output(0);
    at::TensorIteratorConfig config;
    config.check_all_same_dtype(false);
    if (!out.defined()) {
      config.declare_static_dtype(at::kBool);
    }
    build(config.add_borrowed_output(out).add_borrowed_const_input(self));
  }
};

// Two inputs, promoted; the result has their common dtype.
struct BinaryMeta : at::TensorIteratorBase {
  void meta(const at::Tensor& self, const at::Tensor& other) {
    build_borrowing_binary_op(maybe_get_output(0), self, other);
  }
};

// Two inputs, promoted; a BOOL result, or whatever dtype a given out= has.
struct ComparisonMeta : at::TensorIteratorBase {
  void meta(const at::Tensor& self, const at::Tensor& other) {
    build_borrowing_comparison_op(maybe_get_output(0), self, other);
  }
};

} // namespace torch_fl::ops
