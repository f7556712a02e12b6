// SPDX-License-Identifier: Apache-2.0
// The two kernels of elementwise families: dense operands by vectors, and
// operands of any strides.
#pragma once

#include "toolkit/engine/cuda/element_access.cuh"
#include "toolkit/engine/cuda/elementwise.h"

#include <cstdint>
#include <utility>

namespace musa_standin::engine::cuda {
namespace {

template <class T>
__device__ T parameter(uint64_t bits) {
  if constexpr (sizeof(T) == 8) {
    return kernels::bits_as<T>(bits);
  } else if constexpr (sizeof(T) == 4) {
    return kernels::bits_as<T>(static_cast<uint32_t>(bits));
  } else {
    return static_cast<T>(bits);
  }
}

template <class... T>
struct LastOf;
template <class T>
struct LastOf<T> {
  using Type = T;
};
template <class T, class... Rest>
struct LastOf<T, Rest...> : LastOf<Rest...> {};

// A functor's call, whatever the number of its operands.
template <class Op, class... T>
__device__ auto apply(const Parameters& parameters, T... operands) {
  using P = typename LastOf<T...>::Type;
  const P alpha = parameter<P>(parameters.alpha);
  if constexpr (sizeof...(T) == 1) {
    return Op::of(operands..., alpha, parameter<P>(parameters.beta));
  } else {
    return Op::of(operands..., alpha);
  }
}

constexpr int largest(int a) {
  return a;
}
template <class... Rest>
constexpr int largest(int a, int b, Rest... rest) {
  return largest(a > b ? a : b, rest...);
}

// Vectors of one operand on their way.
template <class Access, int Elements, int Count>
struct Vectors {
  using E = typename Access::Element;
  static constexpr int kBytes = sizeof(E) * Elements;
  Raw<kBytes> raw[Count];

  // Every kElementThreads-th; a place behind the last gives the last.
  static __device__ Vectors
  load(const void* base, int64_t first, int place, int last) {
    const char* from = static_cast<const char*>(base) + first * kBytes;
    Vectors result;
    for (int u = 0; u < Count; ++u) {
      const int at = place + u * kElementThreads;
      result.raw[u] = load_raw<kBytes>(from + (at < last ? at : last) * kBytes);
    }
    return result;
  }
  __device__ typename Access::Value value(int u, int k) const {
    return Access::widen(element<E>(raw[u], k));
  }
};

template <class Op, class Out, class... In, size_t... I>
__device__ void run_dense(
    const DenseArgs<sizeof...(In)>& args,
    std::index_sequence<I...>) {
  using Result = typename Out::Element;
  constexpr int kElements = vector_elements(largest(
      sizeof(Result),
      static_cast<int>(sizeof(typename In::Element))...));
  constexpr int kBytes = sizeof(Result) * kElements;
  constexpr int kCount = vectors_in_flight(sizeof...(In));
  constexpr int kBlock = kElementThreads * kCount;
  const int64_t vectors = args.numel / kElements;
  const int64_t first = int64_t{blockIdx.x} * kBlock;
  const int place = static_cast<int>(threadIdx.x);
  if (first < vectors) {
    const int64_t left = vectors - first;
    const int last = left < kBlock ? static_cast<int>(left) - 1 : kBlock - 1;
    const auto store = [&](const Vectors<In, kElements, kCount>&... in) {
      char* to = static_cast<char*>(args.out) + first * kBytes;
      for (int u = 0; u < kCount; ++u) {
        Raw<kBytes> raw{};
        for (int k = 0; k < kElements; ++k) {
          const auto y = apply<Op>(args.parameters, in.value(u, k)...);
          set_element<Result>(raw, k, Out::narrow(y));
        }
        const int at = place + u * kElementThreads;
        if (at <= last)
          store_raw(to + at * kBytes, raw);
      }
    };
    store(Vectors<In, kElements, kCount>::load(
        args.in[I],
        first,
        place,
        last)...);
  }
  // What is less than a vector, an element a thread.
  const int64_t rest = vectors * kElements + place;
  if (blockIdx.x == 0 && rest < args.numel) {
    const auto y = apply<Op>(
        args.parameters,
        In::widen(
            static_cast<const typename In::Element*>(args.in[I])[rest])...);
    static_cast<Result*>(args.out)[rest] = Out::narrow(y);
  }
}

template <class Op, class Out, class... In>
__global__ void __launch_bounds__(kElementThreads)
    dense(const __grid_constant__ DenseArgs<sizeof...(In)> args) {
  run_dense<Op, Out, In...>(args, std::index_sequence_for<In...>{});
}

template <class Op, class Out, class... In, size_t... I>
__device__ void run_strided(
    const StridedArgs<sizeof...(In)>& args,
    std::index_sequence<I...>) {
  constexpr size_t kOperands = sizeof...(In) + 1;
  uint32_t at[kOperands][kGroup];
  int count = kGroup;
  if (args.grouped) {
    uint32_t first[1] = {(blockIdx.x * kElementThreads + threadIdx.x) * kGroup};
    if (first[0] >= args.numel)
      return;
    uint32_t start[kOperands][1];
    args.offsets.of(first, start);
    for (size_t i = 0; i < kOperands; ++i) {
      for (int k = 0; k < kGroup; ++k)
        at[i][k] = start[i][0] + k * args.offsets.strides[0][i];
    }
  } else {
    const uint32_t first =
        blockIdx.x * (kElementThreads * kGroup) + threadIdx.x;
    uint32_t position[kGroup];
    count = 0;
    for (int k = 0; k < kGroup; ++k) {
      const uint32_t p = first + k * kElementThreads;
      count += p < args.numel ? 1 : 0;
      position[k] = p < args.numel ? p : args.numel - 1;
    }
    args.offsets.of(position, at);
  }
  const auto store = [&](const Group<typename In::Value>&... in) {
    Group<typename Out::Value> out;
    for (int k = 0; k < kGroup; ++k)
      out.v[k] = apply<Op>(args.parameters, in.v[k]...);
    const bool vector = (args.vectors & 1) != 0;
    Out::store(args.types[0], args.address[0], at[0], vector, count, out);
  };
  store(In::load(
      args.types[I + 1],
      args.address[I + 1],
      at[I + 1],
      (args.vectors >> (I + 1) & 1) != 0)...);
}

template <class Op, class Out, class... In>
__global__ void __launch_bounds__(kElementThreads)
    strided(const __grid_constant__ StridedArgs<sizeof...(In)> args) {
  run_strided<Op, Out, In...>(args, std::index_sequence_for<In...>{});
}

} // namespace
} // namespace musa_standin::engine::cuda
