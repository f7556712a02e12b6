// SPDX-License-Identifier: Apache-2.0
// Elements moved without a look at their value, and rows in the order of sorted
// keys.
#pragma once

#include "csrc/kernels/launch.h"
#include "csrc/kernels/nest.h"

namespace torch_fl::kernels {

struct alignas(16) Unit16 {
  uint64_t part[2];
};

// f(U()) with the unit of so many bytes.
template <class F>
musaError_t with_unit(int32_t bytes, const F& f) {
  switch (bytes) {
  case 1:
    return f(uint8_t());
  case 2:
    return f(uint16_t());
  case 4:
    return f(uint32_t());
  case 8:
    return f(uint64_t());
  case 16:
    return f(Unit16());
  default:
    return musaErrorInvalidValue;
  }
}

// The first bytes of 16.
template <class U>
U unit_of(const uint64_t (&bytes)[2]) {
  return static_cast<U>(bytes[0]);
}
template <>
inline Unit16 unit_of<Unit16>(const uint64_t (&bytes)[2]) {
  return {{bytes[0], bytes[1]}};
}

// Keys as INT32, if they fit, for a quicker sort, or INT64.
struct SortedKeys {
  const void* keys;
  bool wide;

  static SortedKeys of(const void* keys, bool wide) {
    return {reachable<void>(keys), wide};
  }
  __host__ __device__ int64_t at(int64_t p) const {
    return wide ? static_cast<const int64_t*>(keys)[p]
                : static_cast<const int32_t*>(keys)[p];
  }
};

// i = row * columns + column; no 64-bit division below 2^31 elements.
struct Columns {
  int64_t count;
  Divider by;
  bool wide;

  static Columns of(int64_t columns, int64_t numel) {
    const bool wide = numel > INT32_MAX;
    return {
        columns,
        Divider::by(wide ? 1 : static_cast<uint32_t>(columns)),
        wide};
  }
  __host__ __device__ void split(int64_t i, int64_t& row, int64_t& column)
      const {
    row = wide ? i / count
               : static_cast<int64_t>(by.quotient(static_cast<uint32_t>(i)));
    column = i - row * count;
  }
};

} // namespace torch_fl::kernels
