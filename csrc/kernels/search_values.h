// SPDX-License-Identifier: Apache-2.0
// Values in order, for kernels that search in sorted rows.
#pragma once

#include "csrc/kernels/operands.h"
#include "csrc/kernels/scalar.h"

#include <musa_runtime.h>

#include <type_traits>

namespace torch_fl::kernels {

// What a stored element is compared as.
template <class T>
__host__ __device__ T comparable(T value) {
  return value;
}
__host__ __device__ inline float comparable(Half value) {
  return static_cast<float>(value);
}
__host__ __device__ inline float comparable(Bfloat16 value) {
  return static_cast<float>(value);
}

template <class C>
__host__ __device__ bool is_nan(C value) {
  if constexpr (std::is_floating_point_v<C>) {
    return value != value;
  } else {
    return false;
  }
}

// NaN is the largest, and equal to itself.
template <class C>
__host__ __device__ bool precedes(C a, C b) {
  return a < b || (is_nan(b) && !is_nan(a));
}

// The first of [low, high) for which `after` holds, which holds for all behind
// it too; high if for none.
template <class F>
__host__ __device__ int64_t
first_of(int64_t low, int64_t high, const F& after) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (after(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

template <class T>
struct Typed {
  using Type = T;
};

// f(Typed<T>{}) with the type of that name; BOOL as bytes.
template <class F>
musaError_t with_type(FlKernelType type, const F& f) {
  switch (type) {
  case kFlBool:
  case kFlUint8:
    return f(Typed<uint8_t>{});
  case kFlInt8:
    return f(Typed<int8_t>{});
  case kFlInt16:
    return f(Typed<int16_t>{});
  case kFlInt32:
    return f(Typed<int32_t>{});
  case kFlInt64:
    return f(Typed<int64_t>{});
  case kFlHalf:
    return f(Typed<Half>{});
  case kFlBfloat16:
    return f(Typed<Bfloat16>{});
  case kFlFloat:
    return f(Typed<float>{});
  case kFlDouble:
    return f(Typed<double>{});
  default:
    return musaErrorInvalidValue;
  }
}

template <class F>
musaError_t with_floating(FlKernelType type, const F& f) {
  switch (type) {
  case kFlHalf:
    return f(Typed<Half>{});
  case kFlBfloat16:
    return f(Typed<Bfloat16>{});
  case kFlFloat:
    return f(Typed<float>{});
  case kFlDouble:
    return f(Typed<double>{});
  default:
    return musaErrorInvalidValue;
  }
}

} // namespace torch_fl::kernels
