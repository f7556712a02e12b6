// SPDX-License-Identifier: Apache-2.0
// torch dtypes that muDNN knows, and how it calls them.
#pragma once

#include "csrc/mudnn/mudnn.h"

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <optional>

namespace torch_fl::mudnn {

// Nothing for complex, quantised, float8 and other types that muDNN lacks.
inline std::optional<::musa::dnn::Tensor::Type> dnn_type(c10::ScalarType t) {
  using Type = ::musa::dnn::Tensor::Type;
  switch (t) {
    case c10::ScalarType::Float:
      return Type::FLOAT;
    case c10::ScalarType::Half:
      return Type::HALF;
    case c10::ScalarType::BFloat16:
      return Type::BFLOAT16;
    case c10::ScalarType::Double:
      return Type::DOUBLE;
    case c10::ScalarType::Long:
      return Type::INT64;
    case c10::ScalarType::Int:
      return Type::INT32;
    case c10::ScalarType::Short:
      return Type::INT16;
    case c10::ScalarType::Char:
      return Type::INT8;
    case c10::ScalarType::Byte:
      return Type::UINT8;
    case c10::ScalarType::Bool:
      return Type::BOOL;
    default:
      return std::nullopt;
  }
}

inline bool has_dnn_type(c10::ScalarType t) {
  return dnn_type(t).has_value();
}

// Throws NotImplementedError for a dtype that muDNN lacks.
inline ::musa::dnn::Tensor::Type required_dnn_type(c10::ScalarType t) {
  const auto found = dnn_type(t);
  TORCH_CHECK_NOT_IMPLEMENTED(
      found.has_value(), "muDNN has no element type for ", t);
  return *found;
}

} // namespace torch_fl::mudnn
