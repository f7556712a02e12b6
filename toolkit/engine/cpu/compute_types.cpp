// SPDX-License-Identifier: Apache-2.0
// What elementwise loops compute in, and how operands get there and back.
#include "toolkit/engine/cpu/elementwise.h"

namespace musa_standin::engine::cpu {

const ConvertKernels& convert_kernels() {
  static const ConvertKernels& table = MUSA_ISA_PICK(kConvertKernels);
  return table;
}

LoadFn load_of(Dtype type, Compute compute) {
  const ConvertKernels& table = convert_kernels();
  return compute < kComputeTypes ? table.load[compute][static_cast<int>(type)]
                                 : table.gather[compute - kRaw1];
}

StoreFn store_of(Dtype type, Compute compute) {
  const ConvertKernels& table = convert_kernels();
  return compute < kComputeTypes ? table.store[compute][static_cast<int>(type)]
                                 : table.scatter[compute - kRaw1];
}

Compute raw_of(Dtype type) {
  switch (element_bytes(type)) {
  case 2:
    return kRaw2;
  case 4:
    return kRaw4;
  case 8:
    return kRaw8;
  default:
    return kRaw1;
  }
}

Compute compute_of(Dtype type) {
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

int64_t whole_of(Dtype type, Scalar value) {
  const int64_t v = value.as_int64();
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

Params params_of(Dtype type, Scalar alpha, Scalar beta) {
  if (is_floating(type)) {
    const double a = alpha.as_double();
    const double b = beta.as_double();
    return {
        {a, b},
        {static_cast<int64_t>(a != 0), static_cast<int64_t>(b != 0)}};
  }
  const int64_t a = whole_of(type, alpha);
  const int64_t b = whole_of(type, beta);
  return {{static_cast<double>(a), static_cast<double>(b)}, {a, b}};
}

} // namespace musa_standin::engine::cpu
