// SPDX-License-Identifier: Apache-2.0
// Kernels that write sequences.
#include "csrc/kernels/range.h"

#include "csrc/kernels/launch.h"
#include "csrc/kernels/scalar.h"

#include <math.h> // mcc and nvcc know its functions on the device

namespace torch_fl::kernels {
namespace {

constexpr int64_t kGrain = 16384;

// What a sequence of T is computed in.
template <class T>
struct Computed {
  using Type = double;
};
template <>
struct Computed<float> {
  using Type = float;
};
template <>
struct Computed<Half> {
  using Type = float;
};
template <>
struct Computed<Bfloat16> {
  using Type = float;
};

__host__ __device__ inline float power(float base, float x) {
  return powf(base, x);
}
__host__ __device__ inline double power(double base, double x) {
  return pow(base, x);
}

template <class T, bool kPowers>
struct Space {
  using C = typename Computed<T>::Type;
  T* out;
  C start;
  C end;
  C step;
  C base;
  int64_t n;

  __host__ __device__ void operator()(int64_t i) const {
    const C x = i < n / 2 ? start + step * static_cast<C>(i)
                          : end - step * static_cast<C>(n - 1 - i);
    out[i] = static_cast<T>(kPowers ? power(base, x) : x);
  }
};

template <class T>
musaError_t space(void* out, const FlSpace& s, musaStream_t stream) {
  using C = typename Computed<T>::Type;
  T* const to = reachable<T>(out);
  const auto start = static_cast<C>(s.start);
  const auto end = static_cast<C>(s.end);
  const auto step = static_cast<C>(s.step);
  const auto base = static_cast<C>(s.base);
  if (s.powers == 0) {
    return for_each(
        "linspace",
        s.n,
        kGrain,
        Space<T, false>{to, start, end, step, base, s.n},
        stream);
  }
  return for_each(
      "logspace",
      s.n,
      kGrain,
      Space<T, true>{to, start, end, step, base, s.n},
      stream);
}

// Elements of a triangle's rows before row r: the rows' lengths grow by one
// from `first` until they reach `columns`, or shrink to nothing.
struct Rows {
  int64_t columns;
  int64_t diagonal;
  bool lower;

  __host__ __device__ int64_t length(int64_t row) const {
    const int64_t raw = lower ? row + diagonal + 1 : columns - row - diagonal;
    return raw < 0 ? 0 : raw > columns ? columns : raw;
  }
  // In closed form, of the lower triangle: rows below -diagonal are empty, rows
  // from columns - diagonal - 1 on are full.
  __host__ __device__ int64_t before(int64_t row) const {
    if (!lower) {
      // What the lower triangle of the next diagonal leaves.
      const Rows rest{columns, diagonal - 1, true};
      return row * columns - rest.before(row);
    }
    const int64_t empty = diagonal < 0 ? -diagonal : 0;
    if (row <= empty) {
      return 0;
    }
    const int64_t full =
        columns - diagonal - 1 > empty ? columns - diagonal - 1 : empty;
    const int64_t growing = (row < full ? row : full) - empty;
    const int64_t first = empty + diagonal + 1;
    const int64_t slope = growing * first + growing * (growing - 1) / 2;
    return slope + (row > full ? (row - full) * columns : 0);
  }
};

template <class T>
struct Triangle {
  T* out;
  Rows shape;
  int64_t rows;
  int64_t count;

  __host__ __device__ void operator()(int64_t i) const {
    // The last row that begins at or before i.
    int64_t low = 0;
    int64_t high = rows;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      if (shape.before(middle) <= i) {
        low = middle;
      } else {
        high = middle;
      }
    }
    const int64_t first = shape.lower ? 0 : shape.columns - shape.length(low);
    out[i] = static_cast<T>(low);
    out[count + i] = static_cast<T>(first + i - shape.before(low));
  }
};

template <class T>
musaError_t triangle(void* out, const FlTriangle& t, musaStream_t stream) {
  return for_each(
      t.lower != 0 ? "tril_indices" : "triu_indices",
      t.count,
      kGrain / 4,
      Triangle<T>{
          reachable<T>(out),
          Rows{t.columns, t.diagonal, t.lower != 0},
          t.rows,
          t.count},
      stream);
}

} // namespace
} // namespace torch_fl::kernels

musaError_t fl_space(
    FlKernelType type,
    void* out,
    const FlSpace* space,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  switch (type) {
  case kFlUint8:
    return k::space<uint8_t>(out, *space, stream);
  case kFlInt8:
    return k::space<int8_t>(out, *space, stream);
  case kFlInt16:
    return k::space<int16_t>(out, *space, stream);
  case kFlInt32:
    return k::space<int32_t>(out, *space, stream);
  case kFlInt64:
    return k::space<int64_t>(out, *space, stream);
  case kFlHalf:
    return k::space<k::Half>(out, *space, stream);
  case kFlBfloat16:
    return k::space<k::Bfloat16>(out, *space, stream);
  case kFlFloat:
    return k::space<float>(out, *space, stream);
  case kFlDouble:
    return k::space<double>(out, *space, stream);
  default:
    return musaErrorInvalidValue;
  }
}

musaError_t fl_triangle(
    FlKernelType type,
    void* out,
    const FlTriangle* triangle,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  switch (type) {
  case kFlInt32:
    return k::triangle<int32_t>(out, *triangle, stream);
  case kFlInt64:
    return k::triangle<int64_t>(out, *triangle, stream);
  default:
    return musaErrorInvalidValue;
  }
}
