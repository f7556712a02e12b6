// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels of operands of one type: dense and strided loops around a
// functor.
#pragma once

#include "csrc/kernels/launch.h"
#include "csrc/kernels/nest.h"

namespace torch_fl::kernels {

constexpr int64_t kElementGrain = 16384;

template <class T, class F>
struct DenseUnary {
  T* out;
  const T* in;
  F f;
  __host__ __device__ void operator()(int64_t i) const { out[i] = f(in[i]); }
};
template <class T, class F>
struct StridedUnary {
  T* out;
  const T* in;
  F f;
  Nest<2> nest;
  __host__ __device__ void operator()(int64_t i) const {
    int64_t at[2];
    nest.offsets(i, at);
    out[at[0]] = f(in[at[1]]);
  }
};

template <class T, class F>
struct DenseBinary {
  T* out;
  const T* left;
  const T* right;
  F f;
  __host__ __device__ void operator()(int64_t i) const {
    out[i] = f(left[i], right[i]);
  }
};
template <class T, class F>
struct StridedBinary {
  T* out;
  const T* left;
  const T* right;
  F f;
  Nest<3> nest;
  __host__ __device__ void operator()(int64_t i) const {
    int64_t at[3];
    nest.offsets(i, at);
    out[at[0]] = f(left[at[1]], right[at[2]]);
  }
};

// f with one operand fixed.
template <class T, class F>
struct NumberOnLeft {
  T number;
  F f;
  __host__ __device__ T operator()(T x) const { return f(number, x); }
};
template <class T, class F>
struct NumberOnRight {
  T number;
  F f;
  __host__ __device__ T operator()(T x) const { return f(x, number); }
};

// out = f(operand `in`).
template <class T, class F>
musaError_t unary(
    const char* name,
    const FlOperands& v,
    const F& f,
    musaStream_t stream,
    int operand = 1) {
  T* out = reachable<T>(v.address[0]);
  const T* in = reachable<T>(v.address[operand]);
  if (v.rank == 0) {
    return for_each(
        name,
        v.numel,
        kElementGrain,
        DenseUnary<T, F>{out, in, f},
        stream);
  }
  return for_each(
      name,
      v.numel,
      kElementGrain,
      StridedUnary<T, F>{out, in, f, Nest<2>::of(v, operand)},
      stream);
}

template <class T, class F>
musaError_t
binary(const char* name, const FlOperands& v, const F& f, musaStream_t stream) {
  const T number = static_cast<T>(v.number);
  if (v.number_at == 1) {
    return unary<T>(name, v, NumberOnLeft<T, F>{number, f}, stream, 2);
  }
  if (v.number_at == 2) {
    return unary<T>(name, v, NumberOnRight<T, F>{number, f}, stream);
  }
  T* out = reachable<T>(v.address[0]);
  const T* left = reachable<T>(v.address[1]);
  const T* right = reachable<T>(v.address[2]);
  if (v.rank == 0) {
    return for_each(
        name,
        v.numel,
        kElementGrain,
        DenseBinary<T, F>{out, left, right, f},
        stream);
  }
  return for_each(
      name,
      v.numel,
      kElementGrain,
      StridedBinary<T, F>{out, left, right, f, Nest<3>::of(v)},
      stream);
}

} // namespace torch_fl::kernels
