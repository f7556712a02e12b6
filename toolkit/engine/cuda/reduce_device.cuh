// SPDX-License-Identifier: Apache-2.0
// The reductions' loops over any operation and source of elements; device code.
#pragma once

#include "toolkit/engine/cuda/join.cuh"
#include "toolkit/engine/cuda/pack.h"
#include "toolkit/engine/cuda/reduce_kernels.h"

#include <type_traits>

namespace musa_standin::engine::cuda {

// --- sources: V neighbouring elements as the compute type ------------------

template <class C, class T>
__device__ inline C as_compute(T v) {
  if constexpr (std::is_same_v<C, float>) {
    return wide_of(v);
  } else {
    return kernels::Widen<C, T>::of(v);
  }
}

template <class T>
struct PackedSource {
  static constexpr int kWidth = kPack<T> < 8 ? kPack<T> : 8;
  template <class C>
  static __device__ void
  load(const ReduceJob& job, int64_t at, C (&to)[kWidth]) {
    const Pack<T, kWidth> pack =
        load_pack<kWidth>(static_cast<const T*>(job.in) + at);
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      to[i] = as_compute<C>(pack.e[i]);
  }
  template <class C>
  static __device__ void
  load_one(const ReduceJob& job, int64_t at, C (&to)[1]) {
    to[0] = as_compute<C>(static_cast<const T*>(job.in)[at]);
  }
};

template <class C, class E>
__device__ inline C element(const void* in, int64_t at) {
  return kernels::Widen<C, E>::of(static_cast<const E*>(in)[at]);
}

// The type is looked at for every element, as all threads do alike.
struct AnySource {
  static constexpr int kWidth = 1;
  static __device__ void
  load(const ReduceJob& job, int64_t at, float (&to)[1]) {
    switch (job.dtype) {
    case Dtype::kHalf:
      to[0] = wide_of(static_cast<const kernels::Half*>(job.in)[at]);
      return;
    case Dtype::kBfloat16:
      to[0] = wide_of(static_cast<const kernels::Bfloat16*>(job.in)[at]);
      return;
    default:
      to[0] = static_cast<const float*>(job.in)[at];
    }
  }
  static __device__ void
  load(const ReduceJob& job, int64_t at, double (&to)[1]) {
    to[0] = static_cast<const double*>(job.in)[at];
  }
  static __device__ void
  load(const ReduceJob& job, int64_t at, int64_t (&to)[1]) {
    to[0] = whole(job, at);
  }

 private:
  static __device__ int64_t whole(const ReduceJob& job, int64_t at) {
    switch (job.dtype) {
    case Dtype::kInt8:
      return element<int64_t, int8_t>(job.in, at);
    case Dtype::kInt16:
      return element<int64_t, int16_t>(job.in, at);
    case Dtype::kInt32:
      return element<int64_t, int32_t>(job.in, at);
    case Dtype::kUint8:
      return element<int64_t, uint8_t>(job.in, at);
    case Dtype::kUint16:
      return element<int64_t, uint16_t>(job.in, at);
    case Dtype::kUint32:
      return element<int64_t, uint32_t>(job.in, at);
    case Dtype::kBool:
      return element<int64_t, kernels::Bool>(job.in, at);
    default:
      return element<int64_t, int64_t>(job.in, at);
    }
  }
};

// --- results ----------------------------------------------------------------

template <class C>
__device__ inline void store_result(const ReduceJob& job, int64_t at, C value) {
  switch (job.out_dtype) {
  case Dtype::kHalf:
    static_cast<kernels::Half*>(job.out)[at] =
        narrow_of<kernels::Half>(static_cast<float>(value));
    return;
  case Dtype::kBfloat16:
    static_cast<kernels::Bfloat16*>(job.out)[at] =
        narrow_of<kernels::Bfloat16>(static_cast<float>(value));
    return;
  case Dtype::kDouble:
    static_cast<double*>(job.out)[at] = static_cast<double>(value);
    return;
  default:
    static_cast<float*>(job.out)[at] = static_cast<float>(value);
  }
}

// Integers: the low bits of the sum.
__device__ inline void
store_result(const ReduceJob& job, int64_t at, int64_t value) {
  switch (job.out_dtype) {
  case Dtype::kInt8:
  case Dtype::kUint8:
    static_cast<uint8_t*>(job.out)[at] = static_cast<uint8_t>(value);
    return;
  case Dtype::kBool:
    static_cast<uint8_t*>(job.out)[at] = static_cast<uint8_t>(value != 0);
    return;
  case Dtype::kInt16:
  case Dtype::kUint16:
    static_cast<uint16_t*>(job.out)[at] = static_cast<uint16_t>(value);
    return;
  case Dtype::kInt32:
  case Dtype::kUint32:
    static_cast<uint32_t*>(job.out)[at] = static_cast<uint32_t>(value);
    return;
  default:
    static_cast<int64_t*>(job.out)[at] = value;
  }
}

// A final state, or a split's.
template <class Op>
__device__ inline void put_state(
    const ReduceJob& job,
    int64_t output,
    int split,
    const typename Op::State& state) {
  if (job.splits > 1) {
    static_cast<typename Op::State*>(
        job.partial)[split * job.outputs + output] = state;
  } else {
    Op::write(job, output, state);
  }
}

// --- kernels ----------------------------------------------------------------
//
// An Op has a State, start(job), take(job, state, values, position) for values
// at neighbouring positions of one output, side(job, states, values, position)
// for one position of neighbouring outputs, join(a, b) with a's positions in
// front or not, and write(job, output, state).

constexpr int kUnroll = 4;
// Loads of a thread in flight: single elements take more of them.
template <class Source>
constexpr int kLoads = Source::kWidth == 1 ? 2 * kUnroll : kUnroll;

template <class Op, class Source>
__global__ void __launch_bounds__(kReduceThreads) reduce_rows(ReduceJob job) {
  using C = typename Op::Compute;
  using State = typename Op::State;
  constexpr int kWidth = Source::kWidth;
  constexpr int kCount = kLoads<Source>;
  __shared__ State warps[kMaxWarps];
  const int step = static_cast<int>(blockDim.x);
  const int64_t output =
      static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const int64_t packs = job.reduced / kWidth;
  const auto split = static_cast<int>(blockIdx.y);
  State states[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    states[u] = Op::start(job);
  if (output < job.outputs) {
    const int64_t base = job.kept.offset(output);
    // Splits take turns, so that together they read one piece after the other.
    const int64_t turn = int64_t{kCount} * step;
    int64_t p = split * turn + threadIdx.x;
    for (; p + (kCount - 1) * step < packs; p += job.splits * turn) {
      C values[kCount][kWidth];
#pragma unroll
      for (int u = 0; u < kCount; ++u)
        Source::load(job, base + job.gone.offset(p + u * step), values[u]);
#pragma unroll
      for (int u = 0; u < kCount; ++u)
        Op::take(job, states[u % kUnroll], values[u], (p + u * step) * kWidth);
    }
    for (; p < packs; p += step) {
      C values[kWidth];
      Source::load(job, base + job.gone.offset(p), values);
      Op::take(job, states[0], values, p * kWidth);
    }
    if constexpr (kWidth > 1) {
      // What is left of a single gone axis; a short row has few threads.
      const int64_t end = split == job.splits - 1 ? job.reduced : 0;
      for (int64_t at = packs * kWidth + threadIdx.x; at < end; at += step) {
        C values[1];
        Source::load_one(job, base + at, values);
        Op::take(job, states[0], values, at);
      }
    }
  }
#pragma unroll
  for (int u = kUnroll / 2; u > 0; u /= 2) {
#pragma unroll
    for (int i = 0; i < u; ++i)
      states[i] = Op::join(states[i], states[i + u]);
  }
  const State all =
      join_row(states[0], step, warps, [](const State& a, const State& b) {
        return Op::join(a, b);
      });
  if (threadIdx.x == 0 && output < job.outputs)
    put_state<Op>(job, output, split, all);
}

// Joins the states of the block's thread rows, a power of two, for `width`
// columns a thread and hands the results to put(column of the block, state).
template <class Op, int Width, class Put>
__device__ inline void join_columns(
    const typename Op::State (&states)[Width],
    typename Op::State* all,
    Put&& put) {
  const int row = static_cast<int>(blockDim.x) * Width;
#pragma unroll
  for (int i = 0; i < Width; ++i)
    all[threadIdx.y * row + threadIdx.x * Width + i] = states[i];
  __syncthreads();
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  const int threads = blockDim.x * blockDim.y;
  // The lower half of the rows takes the upper one up.
  for (int half = row * static_cast<int>(blockDim.y) / 2; half >= row;
       half /= 2) {
    for (int i = thread; i < half; i += threads)
      all[i] = Op::join(all[i], all[i + half]);
    __syncthreads();
  }
  for (int column = thread; column < row; column += threads)
    put(column, all[column]);
}

template <class Op, class Source>
__global__ void __launch_bounds__(kColumnThreads)
    reduce_columns(ReduceJob job) {
  using C = typename Op::Compute;
  using State = typename Op::State;
  constexpr int kWidth = Source::kWidth;
  constexpr int kCount = kLoads<Source>;
  __shared__ State all[kColumnThreads * kWidth];
  const int64_t pack =
      static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto split = static_cast<int>(blockIdx.y);
  const int step = static_cast<int>(blockDim.y);
  State states[kWidth];
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    states[i] = Op::start(job);
  if (pack * kWidth < job.outputs) {
    const int64_t base = job.kept.offset(pack);
    const int64_t turn = int64_t{kCount} * step;
    int64_t g = split * turn + threadIdx.y;
    for (; g + (kCount - 1) * step < job.reduced; g += job.splits * turn) {
      C values[kCount][kWidth];
#pragma unroll
      for (int u = 0; u < kCount; ++u)
        Source::load(job, base + job.gone.offset(g + u * step), values[u]);
#pragma unroll
      for (int u = 0; u < kCount; ++u)
        Op::side(job, states, values[u], g + u * step);
    }
    for (; g < job.reduced; g += step) {
      C values[kWidth];
      Source::load(job, base + job.gone.offset(g), values);
      Op::side(job, states, values, g);
    }
  }
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x * kWidth;
  join_columns<Op>(states, all, [&](int column, const State& state) {
    if (first + column < job.outputs)
      put_state<Op>(job, first + column, split, state);
  });
}

// Joins the splits; threadIdx.x runs over outputs.
template <class Op>
__global__ void __launch_bounds__(kColumnThreads) join_splits(ReduceJob job) {
  using State = typename Op::State;
  __shared__ State all[kColumnThreads];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x;
  const int64_t output = first + threadIdx.x;
  const State* parts = static_cast<const State*>(job.partial);
  State states[1] = {Op::start(job)};
  if (output < job.outputs) {
    const int step = static_cast<int>(blockDim.y);
    int s = static_cast<int>(threadIdx.y);
    for (; s + (kUnroll - 1) * step < job.splits; s += kUnroll * step) {
      State next[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        next[u] = parts[(s + u * step) * job.outputs + output];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        states[0] = Op::join(states[0], next[u]);
    }
    for (; s < job.splits; s += step)
      states[0] = Op::join(states[0], parts[s * job.outputs + output]);
  }
  join_columns<Op>(states, all, [&](int column, const State& state) {
    if (first + column < job.outputs)
      Op::write(job, first + column, state);
  });
}

template <class Op, class Source>
ReduceKernels reduce_kernels() {
  return {
      reduce_rows<Op, Source>,
      reduce_columns<Op, Source>,
      join_splits<Op>,
      Source::kWidth,
      static_cast<int32_t>(sizeof(typename Op::State))};
}

} // namespace musa_standin::engine::cuda
