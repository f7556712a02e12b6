// SPDX-License-Identifier: Apache-2.0
// Kernels that copy by place: triangles of matrices, reversed dimensions.
#include "csrc/kernels/triangle.h"

#include "csrc/kernels/elementwise.h"

namespace torch_fl::kernels {
namespace {

// An element of 16 bytes.
struct Wide {
  uint64_t half[2];
};

template <class T>
struct Keep {
  T* out;
  const T* in;
  Nest<2> nest;
  int64_t columns;
  int64_t rows;
  int64_t diagonal;
  bool lower;

  __host__ __device__ bool keeps(int64_t row, int64_t column) const {
    return lower ? column - row <= diagonal : column - row >= diagonal;
  }
  __host__ __device__ void operator()(int64_t i) const {
    int64_t at[2];
    nest.offsets(i, at);
    int64_t column = 0;
    int64_t row = 0;
    if (nest.wide) {
      const int64_t line = i / columns;
      column = i - line * columns;
      row = line % rows;
    } else {
      const auto n = static_cast<uint32_t>(i);
      const uint32_t line = nest.dims[0].quotient(n);
      column = n - line * nest.dims[0].divisor;
      row = line - nest.dims[1].quotient(line) * nest.dims[1].divisor;
    }
    out[at[0]] = keeps(row, column) ? in[at[1]] : T{};
  }

  // On a host: line by line.
  __forceinline__ void range(int64_t first, int64_t last) const {
    for (int64_t i = first; i < last;) {
      const int64_t begin = i % columns;
      const int64_t row = i / columns % rows;
      const int64_t count =
          last - i < columns - begin ? last - i : columns - begin;
      int64_t at[2];
      nest.offsets(i, at);
      for (int64_t c = 0; c < count; ++c) {
        const T value = in[at[1] + c * nest.strides[1][0]];
        out[at[0] + c * nest.strides[0][0]] =
            keeps(row, begin + c) ? value : T{};
      }
      i += count;
    }
  }
};

template <class T>
musaError_t keep(const FlOperands& v, const FlKeep& k, musaStream_t stream) {
  return for_each(
      k.lower != 0 ? "tril" : "triu",
      v.numel,
      kElementGrain,
      Keep<T>{
          reachable<T>(v.address[0]),
          reachable<T>(static_cast<const void*>(v.address[1])),
          Nest<2>::of(v),
          v.dims[0],
          v.dims[1],
          k.diagonal,
          k.lower != 0},
      stream);
}

template <class T>
struct Same {
  __host__ __device__ T operator()(T x) const { return x; }
};

template <class T>
musaError_t copy(const FlOperands& v, musaStream_t stream) {
  return unary<T>("copy_strided", v, Same<T>{}, stream);
}

} // namespace
} // namespace torch_fl::kernels

musaError_t fl_keep_triangle(
    const FlOperands* operands,
    const FlKeep* keep,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  switch (keep->size) {
  case 1:
    return k::keep<uint8_t>(*operands, *keep, stream);
  case 2:
    return k::keep<uint16_t>(*operands, *keep, stream);
  case 4:
    return k::keep<uint32_t>(*operands, *keep, stream);
  case 8:
    return k::keep<uint64_t>(*operands, *keep, stream);
  case 16:
    return k::keep<k::Wide>(*operands, *keep, stream);
  default:
    return musaErrorInvalidValue;
  }
}

musaError_t
fl_copy_strided(const FlOperands* operands, int32_t size, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  switch (size) {
  case 1:
    return k::copy<uint8_t>(*operands, stream);
  case 2:
    return k::copy<uint16_t>(*operands, stream);
  case 4:
    return k::copy<uint32_t>(*operands, stream);
  case 8:
    return k::copy<uint64_t>(*operands, stream);
  case 16:
    return k::copy<k::Wide>(*operands, stream);
  default:
    return musaErrorInvalidValue;
  }
}
