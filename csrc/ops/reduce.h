// SPDX-License-Identifier: Apache-2.0
// What the reductions share: dimensions, the type of the sums, empty operands.
#pragma once

#include "csrc/mudnn/reduce.h"
#include "csrc/ops/elementwise.h"

#include <ATen/WrapDimUtils.h>

#include <optional>

namespace torch_fl::ops {

inline mudnn::DimMask every_dim(const at::Tensor& self) {
  mudnn::DimMask mask;
  for (int64_t d = 0; d < self.dim(); ++d) {
    mask.set(static_cast<size_t>(d));
  }
  return mask;
}

// No list, or an empty one, means all.
inline mudnn::DimMask dim_mask(
    const at::Tensor& self,
    at::OptionalIntArrayRef dims) {
  if (!dims.has_value() || dims->empty()) {
    return every_dim(self);
  }
  mudnn::DimMask mask;
  for (const int64_t dim : *dims) {
    mask.set(static_cast<size_t>(at::maybe_wrap_dim(dim, self.dim())));
  }
  return mask;
}

// Half and bfloat16 lose digits where muDNN accumulates in them (quirk 35);
// small integers are not accepted by every mode, nor either by RunWithIndices
// (quirk 34). Converting to these types is exact, and keeps the order and NaN.
inline at::ScalarType accumulates_in(at::ScalarType type) {
  if (type == at::kHalf || type == at::kBFloat16) {
    return at::kFloat;
  }
  return c10::isIntegralType(type, /*includeBool=*/true) ? at::kLong : type;
}

inline bool known(const at::Tensor& tensor) {
  return mudnn::has_dnn_type(tensor.scalar_type());
}

inline bool real_dtype(const std::optional<at::ScalarType>& dtype) {
  return !dtype.has_value() || mudnn::has_dnn_type(*dtype);
}

// Writes `empty` where nothing is reduced; true if that was all.
inline bool
is_trivial(const at::Tensor& self, const at::Tensor& out, double empty) {
  if (out.numel() == 0) {
    return true;
  }
  if (self.numel() == 0) {
    mudnn::fill(out, mudnn::Number(empty));
    return true;
  }
  return false;
}

inline void total(
    const at::Tensor& self,
    const at::Tensor& out,
    const mudnn::DimMask& dims,
    mudnn::ReduceMode mode,
    double empty) {
  if (!is_trivial(self, out, empty)) {
    mudnn::reduce(out, self, dims, mode, accumulates_in(out.scalar_type()));
  }
}

} // namespace torch_fl::ops
