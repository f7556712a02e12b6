// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels: dense and strided loops around a functor of one to three
// operands of one type.
#pragma once

#include "csrc/kernels/launch.h"
#include "csrc/kernels/nest.h"

#include <type_traits>

namespace torch_fl::kernels {

constexpr int64_t kElementGrain = 16384;

template <int K, class F, class T>
__host__ __device__ auto apply(const F& f, const T (&x)[K]) {
  static_assert(K >= 1 && K <= 3);
  if constexpr (K == 1) {
    return f(x[0]);
  } else if constexpr (K == 2) {
    return f(x[0], x[1]);
  } else {
    return f(x[0], x[1], x[2]);
  }
}

// What a thread reads and writes at once.
template <class T, int N>
struct alignas(N * sizeof(T)) Pack {
  T at[N];
};
template <class T>
constexpr int kPackOf = sizeof(T) >= 16 ? 1
    : sizeof(T) >= 8                    ? 2
                                        : 4;

template <class O, class T, int K, class F>
struct Dense {
  static constexpr int kPack = kPackOf<T>;
  O* out;
  const T* in[K];
  F f;
  int64_t n;
  bool aligned;

  __host__ __device__ void element(int64_t i) const {
    T x[K];
    for (int k = 0; k < K; ++k) {
      x[k] = in[k][i];
    }
    out[i] = apply<K>(f, x);
  }
  // A pack of elements.
  __host__ __device__ void operator()(int64_t p) const {
    const int64_t i = p * kPack;
    if (!aligned || i + kPack > n) {
      for (int64_t j = i; j < n && j < i + kPack; ++j) {
        element(j);
      }
      return;
    }
    Pack<T, kPack> x[K];
    for (int k = 0; k < K; ++k) {
      x[k] = *reinterpret_cast<const Pack<T, kPack>*>(in[k] + i);
    }
    Pack<O, kPack> y;
    for (int j = 0; j < kPack; ++j) {
      T of[K];
      for (int k = 0; k < K; ++k) {
        of[k] = x[k].at[j];
      }
      y.at[j] = apply<K>(f, of);
    }
    *reinterpret_cast<Pack<O, kPack>*>(out + i) = y;
  }
  // Packs [first, last) on a host: one plain loop.
  __forceinline__ void range(int64_t first, int64_t last) const {
    const int64_t end = last * kPack < n ? last * kPack : n;
    for (int64_t i = first * kPack; i < end; ++i) {
      element(i);
    }
  }
};

// With any strides; operand number_at is `number` if it is not 0.
template <class O, class T, int K, class F>
struct Strided {
  O* out;
  const T* in[K];
  F f;
  T number;
  int32_t number_at;
  Nest<K + 1> nest;

  __host__ __device__ void offsets(int64_t i, int64_t (&at)[K + 1]) const {
    if (nest.rank != 1) {
      nest.offsets(i, at);
      return;
    }
    for (int a = 0; a <= K; ++a) {
      at[a] = i * nest.strides[a][0];
    }
  }
  __host__ __device__ void element(const int64_t (&at)[K + 1]) const {
    T x[K];
    for (int k = 0; k < K; ++k) {
      x[k] = number_at == k + 1 ? number : in[k][at[k + 1]];
    }
    out[at[0]] = apply<K>(f, x);
  }
  __host__ __device__ void operator()(int64_t i) const {
    int64_t at[K + 1];
    offsets(i, at);
    element(at);
  }
  // [first, last) on a host: a plain loop for each run of the innermost
  // dimension.
  __forceinline__ void range(int64_t first, int64_t last) const {
    const int64_t width = nest.wide_dims[0];
    for (int64_t i = first; i < last;) {
      const int64_t left = width - i % width;
      const int64_t count = last - i < left ? last - i : left;
      int64_t at[K + 1];
      offsets(i, at);
      for (int64_t j = 0; j < count; ++j) {
        element(at);
        for (int a = 0; a <= K; ++a) {
          at[a] += nest.strides[a][0];
        }
      }
      i += count;
    }
  }
};

// The number that stands for an operand.
template <class T>
T number_of(const FlOperands& v) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(v.number);
  } else if constexpr (std::is_same_v<T, double>) {
    return v.real;
  } else if constexpr (std::is_constructible_v<T, float>) {
    return T(static_cast<float>(v.real));
  } else {
    return T{};
  }
}

template <class T>
bool aligned_for_packs(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % sizeof(Pack<T, kPackOf<T>>) ==
      0;
}

// Operand 0, of type O, = f(operands 1 to K), of type T.
template <int K, class T, class O = T, class F>
musaError_t elementwise(
    const char* name,
    const FlOperands& v,
    const F& f,
    musaStream_t stream) {
  O* const out = reachable<O>(v.address[0]);
  const bool dense = v.rank == 0 && v.number_at == 0;
  if (dense) {
    Dense<O, T, K, F> loop{out, {}, f, v.numel, true};
    loop.aligned =
        reinterpret_cast<uintptr_t>(out) % (kPackOf<T> * sizeof(O)) == 0;
    for (int k = 0; k < K; ++k) {
      loop.in[k] = reachable<T>(v.address[k + 1]);
      loop.aligned = loop.aligned && aligned_for_packs<T>(loop.in[k]);
    }
    constexpr int64_t kPack = kPackOf<T>;
    return for_each(
        name,
        (v.numel + kPack - 1) / kPack,
        kElementGrain / kPack,
        loop,
        stream);
  }
  FlOperands nested = v;
  if (v.rank == 0) {
    nested.rank = 1;
    nested.dims[0] = v.numel;
    for (int a = 0; a <= K; ++a) {
      nested.strides[a][0] = a > 0 && a == v.number_at ? 0 : 1;
    }
  }
  Strided<O, T, K, F>
      loop{out, {}, f, T{}, v.number_at, Nest<K + 1>::of(nested)};
  for (int k = 0; k < K; ++k) {
    if (v.number_at == k + 1) {
      loop.number = number_of<T>(v);
    } else {
      loop.in[k] = reachable<T>(v.address[k + 1]);
    }
  }
  return for_each(name, v.numel, kElementGrain, loop, stream);
}

template <class T, class F>
musaError_t
unary(const char* name, const FlOperands& v, const F& f, musaStream_t stream) {
  return elementwise<1, T>(name, v, f, stream);
}

template <class T, class F>
musaError_t
binary(const char* name, const FlOperands& v, const F& f, musaStream_t stream) {
  return elementwise<2, T>(name, v, f, stream);
}

} // namespace torch_fl::kernels
