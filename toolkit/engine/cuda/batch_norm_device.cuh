// SPDX-License-Identifier: Apache-2.0
// Batch normalisation's loops, over either pass; device code.
//
// A Pass has Element, Wide, State, Scale, Loaded<V>; load(job, at) for V
// neighbouring elements; take(state, loaded, mean) for elements of one channel
// and side(states, loaded, means) for one of each of V channels; join; the
// mean that it wants for a channel; settle(job, channel, state), which keeps a
// channel's results and returns its Scale; scale_of(job, channel); and
// apply(job, at, loaded, scales) with a Scale for each element.
#pragma once

#include "toolkit/engine/cuda/batch_norm_kernels.h"
#include "toolkit/engine/cuda/join.cuh"
#include "toolkit/engine/cuda/pack.h"

namespace musa_standin::engine::cuda {

constexpr int kAhead = 4; // loads in flight

template <class W>
__device__ inline W value_or(const void* p, int64_t i, W otherwise) {
  return p != nullptr ? static_cast<const W*>(p)[i] : otherwise;
}

template <class P>
__device__ inline void settle_or_keep(
    const BatchNormJob& job,
    int64_t channel,
    int split,
    const typename P::State& state) {
  const int64_t channels = job.extents.channels;
  if (job.splits > 1) {
    static_cast<typename P::State*>(job.partial)[split * channels + channel] =
        state;
  } else {
    static_cast<typename P::Scale*>(job.scales)[channel] =
        P::settle(job, channel, state);
  }
}

// A thread's part of a channel in planes, of packs [begin, end) and of every
// `step`-th from its own.
template <class P, int V>
__device__ inline typename P::State plane_sums(
    const BatchNormJob& job,
    int64_t channel,
    int64_t begin,
    int64_t end) {
  using State = typename P::State;
  const int64_t base = channel * job.extents.plane;
  const auto mean = P::mean(job, channel);
  State states[kAhead] = {};
  const int step = static_cast<int>(blockDim.x);
  int64_t p = begin + threadIdx.x;
  for (; p + (kAhead - 1) * step < end; p += kAhead * step) {
    typename P::template Loaded<V> loaded[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u)
      loaded[u] =
          P::template load<V>(job, base + job.planes.offset(p + u * step));
#pragma unroll
    for (int u = 0; u < kAhead; ++u)
      P::take(states[u], loaded[u], mean);
  }
  for (; p < end; p += step)
    P::take(
        states[0],
        P::template load<V>(job, base + job.planes.offset(p)),
        mean);
  return P::join(P::join(states[0], states[1]), P::join(states[2], states[3]));
}

template <class P>
__device__ inline typename P::State block_state(
    const typename P::State& s,
    typename P::State* warps) {
  using State = typename P::State;
  return join_row(
      s,
      static_cast<int>(blockDim.x),
      warps,
      [](const State& a, const State& b) { return P::join(a, b); });
}

template <class P, int V>
__global__ void __launch_bounds__(kChannelThreads)
    sums_planes(BatchNormJob job) {
  __shared__ typename P::State warps[kMaxWarps];
  const int64_t packs = job.extents.batch * job.extents.plane / V;
  const auto split = static_cast<int>(blockIdx.y);
  const typename P::State s = block_state<P>(
      plane_sums<P, V>(
          job,
          blockIdx.x,
          packs * split / job.splits,
          packs * (split + 1) / job.splits),
      warps);
  if (threadIdx.x == 0)
    settle_or_keep<P>(job, blockIdx.x, split, s);
}

// A thread's part of V channels from `first` on, of every blockDim.y-th row of
// [begin, end) from its own.
template <class P, int V>
__device__ inline void row_sums(
    const BatchNormJob& job,
    int64_t first,
    int64_t begin,
    int64_t end,
    typename P::State (&states)[V]) {
  const int64_t channels = job.extents.channels;
  typename P::Wide means[V];
#pragma unroll
  for (int i = 0; i < V; ++i)
    means[i] = P::mean(job, first + i);
  const int step = static_cast<int>(blockDim.y);
  int64_t row = begin + threadIdx.y;
  for (; row + (kAhead - 1) * step < end; row += kAhead * step) {
    typename P::template Loaded<V> loaded[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u)
      loaded[u] = P::template load<V>(job, (row + u * step) * channels + first);
#pragma unroll
    for (int u = 0; u < kAhead; ++u)
      P::side(states, loaded[u], means);
  }
  for (; row < end; row += step)
    P::side(states, P::template load<V>(job, row * channels + first), means);
}

template <class P, int V>
__global__ void __launch_bounds__(kChannelThreads) sums_rows(BatchNormJob job) {
  using State = typename P::State;
  __shared__ State all[kChannelThreads * V];
  const int width = static_cast<int>(blockDim.x);
  const int64_t channels = job.extents.channels;
  const int64_t block = static_cast<int64_t>(blockIdx.x) * width * V;
  const int64_t first = block + threadIdx.x * V;
  const auto split = static_cast<int>(blockIdx.y);
  State states[V] = {};
  if (first < channels)
    row_sums<P, V>(
        job,
        first,
        job.extents.batch * split / job.splits,
        job.extents.batch * (split + 1) / job.splits,
        states);
#pragma unroll
  for (int i = 0; i < V; ++i)
    all[(threadIdx.y * width + threadIdx.x) * V + i] = states[i];
  __syncthreads();
  const int thread = threadIdx.y * width + threadIdx.x;
  for (int column = thread; column < width * V;
       column += width * static_cast<int>(blockDim.y)) {
    State sum = all[column];
    for (int y = 1; y < blockDim.y; ++y)
      sum = P::join(sum, all[y * width * V + column]);
    if (block + column < channels)
      settle_or_keep<P>(job, block + column, split, sum);
  }
}

template <class P>
__global__ void __launch_bounds__(kWarp* kSettleThreads)
    settle_channels(BatchNormJob job) {
  using State = typename P::State;
  __shared__ State all[kSettleThreads][kWarp];
  const int64_t channels = job.extents.channels;
  const int64_t channel =
      static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  const State* parts = static_cast<const State*>(job.partial);
  State sum = {};
#pragma unroll 4
  for (int s = threadIdx.y; channel < channels && s < job.splits;
       s += kSettleThreads)
    sum = P::join(sum, parts[s * channels + channel]);
  all[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || channel >= channels)
    return;
  for (int y = 1; y < kSettleThreads; ++y)
    sum = P::join(sum, all[y][threadIdx.x]);
  static_cast<typename P::Scale*>(job.scales)[channel] =
      P::settle(job, channel, sum);
}

template <class P, int V>
__global__ void __launch_bounds__(kChannelThreads)
    apply_planes(BatchNormJob job) {
  const int64_t plane =
      static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (plane >= job.extents.batch * job.extents.channels)
    return;
  const typename P::Scale scale =
      P::scale_of(job, plane % job.extents.channels);
  typename P::Scale scales[V];
#pragma unroll
  for (int i = 0; i < V; ++i)
    scales[i] = scale;
  const int64_t base = plane * job.extents.plane;
#pragma unroll 4
  for (int64_t i = threadIdx.x * V; i < job.extents.plane; i += blockDim.x * V)
    P::apply(job, base + i, P::template load<V>(job, base + i), scales);
}

template <class P, int V>
__global__ void __launch_bounds__(kChannelThreads)
    apply_rows(BatchNormJob job) {
  const int64_t channels = job.extents.channels;
  const int64_t first =
      (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * V;
  if (first >= channels)
    return;
  typename P::Scale scales[V];
#pragma unroll
  for (int i = 0; i < V; ++i)
    scales[i] = P::scale_of(job, first + i);
  const int64_t step = static_cast<int64_t>(gridDim.y) * blockDim.y;
#pragma unroll 4
  for (int64_t row =
           static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
       row < job.extents.batch;
       row += step) {
    const int64_t at = row * channels + first;
    P::apply(job, at, P::template load<V>(job, at), scales);
  }
}

template <class P>
__global__ void __launch_bounds__(kChannelThreads)
    alone_planes(BatchNormJob job) {
  __shared__ typename P::State warps[kMaxWarps];
  __shared__ typename P::Scale scale[1];
  const int64_t n = job.extents.batch * job.extents.plane;
  const typename P::State s =
      block_state<P>(plane_sums<P, 1>(job, blockIdx.x, 0, n), warps);
  if (threadIdx.x == 0)
    scale[0] = P::settle(job, blockIdx.x, s);
  __syncthreads();
  if (job.out == nullptr)
    return;
  const int64_t base = blockIdx.x * job.extents.plane;
  for (int64_t p = threadIdx.x; p < n; p += blockDim.x) {
    const int64_t at = base + job.planes.offset(p);
    P::apply(job, at, P::template load<1>(job, at), scale);
  }
}

template <class P>
__global__ void __launch_bounds__(kChannelThreads)
    alone_rows(BatchNormJob job) {
  constexpr int kRows = kChannelThreads / kWarp;
  __shared__ typename P::State all[kRows][kWarp];
  __shared__ typename P::Scale shared[kWarp];
  const int64_t channels = job.extents.channels;
  const int64_t channel =
      static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  typename P::State states[1] = {};
  if (channel < channels)
    row_sums<P, 1>(job, channel, 0, job.extents.batch, states);
  all[threadIdx.y][threadIdx.x] = states[0];
  __syncthreads();
  if (threadIdx.y == 0 && channel < channels) {
    for (int y = 1; y < kRows; ++y)
      states[0] = P::join(states[0], all[y][threadIdx.x]);
    shared[threadIdx.x] = P::settle(job, channel, states[0]);
  }
  __syncthreads();
  if (channel >= channels || job.out == nullptr)
    return;
  const typename P::Scale scale[1] = {shared[threadIdx.x]};
#pragma unroll 4
  for (int64_t row = threadIdx.y; row < job.extents.batch; row += kRows) {
    const int64_t at = row * channels + channel;
    P::apply(job, at, P::template load<1>(job, at), scale);
  }
}

template <class P>
BatchNormKernels batch_norm_kernels() {
  constexpr int kV = kPack<typename P::Element>;
  return {
      {sums_planes<P, 1>, sums_planes<P, kV>},
      {sums_rows<P, 1>, sums_rows<P, kV>},
      settle_channels<P>,
      {apply_planes<P, 1>, apply_planes<P, kV>},
      {apply_rows<P, 1>, apply_rows<P, kV>},
      alone_planes<P>,
      alone_rows<P>,
      kV,
      static_cast<int>(sizeof(typename P::State)),
      static_cast<int>(sizeof(typename P::Scale))};
}

} // namespace musa_standin::engine::cuda
