// SPDX-License-Identifier: Apache-2.0
// torch dtypes that muDNN knows, and how it calls them.
#pragma once

#include "csrc/mudnn/mudnn.h"

#include <c10/core/ScalarType.h>
#include <c10/macros/Macros.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace torch_fl::mudnn {

// Nothing for complex, quantised, float8 and other types that muDNN lacks.
constexpr std::optional<::musa::dnn::Tensor::Type> dnn_type(c10::ScalarType t) {
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

namespace detail {

constexpr uint8_t kNoType = 255;

// dnn_type() as a table by ScalarType's number: hot calls ask three times.
struct TypeTable {
  std::array<uint8_t, 256> types{};

  constexpr TypeTable() {
    for (size_t i = 0; i < types.size(); ++i) {
      const auto found = dnn_type(static_cast<c10::ScalarType>(i));
      types[i] = found.has_value() ? static_cast<uint8_t>(*found) : kNoType;
    }
  }
};
inline constexpr TypeTable kTypes;

[[noreturn]] inline void no_type(c10::ScalarType t) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "muDNN has no element type for ", t);
}

} // namespace detail

C10_ALWAYS_INLINE bool has_dnn_type(c10::ScalarType t) {
  return detail::kTypes.types[static_cast<uint8_t>(t)] != detail::kNoType;
}

// Throws NotImplementedError for a dtype that muDNN lacks.
C10_ALWAYS_INLINE ::musa::dnn::Tensor::Type required_dnn_type(
    c10::ScalarType t) {
  const uint8_t found = detail::kTypes.types[static_cast<uint8_t>(t)];
  if (C10_UNLIKELY(found == detail::kNoType)) {
    detail::no_type(t);
  }
  return static_cast<::musa::dnn::Tensor::Type>(found);
}

} // namespace torch_fl::mudnn
