// SPDX-License-Identifier: Apache-2.0
// What elementwise kernels compute in, and their parameters in that type.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include "toolkit/kernels/scalar_types.h"

#include <cstdint>

namespace musa_standin::engine::cuda {

// FLOAT, HALF, BFLOAT16; DOUBLE; integers; truth values.
enum Compute : uint8_t { kF32, kF64, kI64, kU8, kComputeTypes };

// alpha and beta, each as the bits of the type that the mode computes in.
struct Parameters {
  uint64_t alpha = 0;
  uint64_t beta = 0;
};

constexpr Compute compute_of(Dtype type) {
  switch (type) {
  case Dtype::kFloat:
  case Dtype::kHalf:
  case Dtype::kBfloat16:
    return kF32;
  case Dtype::kDouble:
    return kF64;
  case Dtype::kBool:
    return kU8;
  default:
    return kI64;
  }
}

// The one type that both sides of a conversion go through.
constexpr Compute between(Dtype a, Dtype b) {
  if (a == Dtype::kDouble || b == Dtype::kDouble)
    return kF64;
  return is_floating(a) || is_floating(b) ? kF32 : kI64;
}

// The caller's eight bytes as a number of an integral type, or a truth value.
constexpr int64_t whole_of(Dtype type, int64_t v) {
  switch (type) {
  case Dtype::kInt8:
    return static_cast<int8_t>(v);
  case Dtype::kInt16:
    return static_cast<int16_t>(v);
  case Dtype::kInt32:
    return static_cast<int32_t>(v);
  case Dtype::kUint8:
    return static_cast<uint8_t>(v);
  case Dtype::kUint16:
    return static_cast<uint16_t>(v);
  case Dtype::kUint32:
    return static_cast<uint32_t>(v);
  case Dtype::kBool:
    return static_cast<int64_t>(v != 0);
  default:
    return v;
  }
}

inline uint64_t parameter_bits(Compute compute, double value) {
  return compute == kF32 ? kernels::bits_as<uint32_t>(static_cast<float>(value))
                         : kernels::bits_as<uint64_t>(value);
}

// The parameter of a mode whose operand is of this type.
inline uint64_t parameter_of(Dtype type, Compute compute, Scalar value) {
  const bool real = compute == kF32 || compute == kF64;
  if (is_floating(type)) {
    return real ? parameter_bits(compute, value.as_double())
                : static_cast<uint64_t>(value.as_double() != 0);
  }
  const int64_t whole = whole_of(type, value.as_int64());
  if (real)
    return parameter_bits(compute, static_cast<double>(whole));
  return compute == kU8 ? static_cast<uint64_t>(whole != 0)
                        : static_cast<uint64_t>(whole);
}

} // namespace musa_standin::engine::cuda
