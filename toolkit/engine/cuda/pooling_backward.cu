// SPDX-License-Identifier: Apache-2.0
// Pooling backward: each input gathers from the windows that hold it, so that
// sums have one order and need no atomics.
#include "toolkit/engine/cuda/pooling_kernels.cuh"

namespace musa_standin::engine::cuda {
namespace {

// Inputs side by side in a row, of one thread, where channels are planes.
constexpr int kColumns = 4;

struct Range {
  int32_t first;
  int32_t last;
};

__device__ Range covering(const Axis& a, int32_t begin, int32_t end) {
  Range r;
  kernels::pool_covering(a, begin, end, r.first, r.last);
  return r;
}

__device__ bool holds(const Window& w, int32_t position) {
  return position >= w.begin && position < w.end;
}

// The gradient of V channels at a position.
template <bool Maximum, class T, int V>
__global__ void __launch_bounds__(kThreads) position_kernel(
    Shape s,
    uint32_t total,
    T* __restrict__ grad_in,
    const T* __restrict__ grad_out,
    const int64_t* __restrict__ index) {
  const uint32_t n = blockIdx.x * kThreads + threadIdx.x;
  if (n >= total)
    return;
  const Place at = place_of(s, n);
  const int32_t position = (at.d * s.h.in + at.h) * s.w.in + at.w;
  const int64_t base =
      int64_t{at.plane} * s.out_positions * s.depth + at.pack * V;
  const Range ds = covering(s.d, at.d, at.d + 1);
  const Range hs = covering(s.h, at.h, at.h + 1);
  const Range ws = covering(s.w, at.w, at.w + 1);
  Wide<T> sum[V] = {};
  for (int32_t d = ds.first; d < ds.last; ++d) {
    for (int32_t h = hs.first; h < hs.last; ++h) {
#pragma unroll 2
      for (int32_t w = ws.first; w < ws.last; ++w) {
        const int64_t from =
            base + int64_t{(d * s.h.out + h) * s.w.out + w} * s.depth;
        const Pack<T, V> grad = load_pack<V>(grad_out + from);
        if constexpr (Maximum) {
          constexpr int kPair = V < 2 ? V : 2;
#pragma unroll
          for (int i = 0; i < V; i += kPair) {
            const auto pair = load_pack<kPair>(index + from + i);
#pragma unroll
            for (int j = 0; j < kPair; ++j) {
              const Wide<T> g = wide_of(grad.e[i + j]);
              sum[i + j] = pair.e[j] == position ? sum[i + j] + g : sum[i + j];
            }
          }
        } else {
          const Window wd = kernels::pool_window(s.d, d);
          const Window wh = kernels::pool_window(s.h, h);
          const Window ww = kernels::pool_window(s.w, w);
          if (!holds(wd, at.d) || !holds(wh, at.h) || !holds(ww, at.w))
            continue;
          const auto divisor = static_cast<Wide<T>>(divisor_of(s, wd, wh, ww));
#pragma unroll
          for (int i = 0; i < V; ++i)
            sum[i] += wide_of(grad.e[i]) / divisor;
        }
      }
    }
  }
  store_wide<V>(grad_in + int64_t{n} * V, sum);
}

// The gradients of kColumns positions of a row, one channel a plane. by_w
// counts threads of a row.
template <bool Maximum, class T>
__global__ void __launch_bounds__(kThreads) row_kernel(
    Shape s,
    uint32_t total,
    bool packed, // whole packs in every row
    T* __restrict__ grad_in,
    const T* __restrict__ grad_out,
    const int64_t* __restrict__ index) {
  const uint32_t n = blockIdx.x * kThreads + threadIdx.x;
  if (n >= total)
    return;
  const Place at = place_of(s, n);
  const int32_t left = at.w * kColumns;
  const int32_t right = left + kColumns < s.w.in ? left + kColumns : s.w.in;
  const int32_t position = (at.d * s.h.in + at.h) * s.w.in + left;
  const int32_t base = at.plane * s.out_positions;
  const Range ds = covering(s.d, at.d, at.d + 1);
  const Range hs = covering(s.h, at.h, at.h + 1);
  const Range ws = covering(s.w, left, right);
  Wide<T> sum[kColumns] = {};
  for (int32_t d = ds.first; d < ds.last; ++d) {
    for (int32_t h = hs.first; h < hs.last; ++h) {
      const int32_t row = base + (d * s.h.out + h) * s.w.out;
#pragma unroll 4
      for (int32_t w = ws.first; w < ws.last; ++w) {
        const Wide<T> grad = wide_of(grad_out[row + w]);
        if constexpr (Maximum) {
          const int64_t column = index[row + w] - position;
#pragma unroll
          for (int i = 0; i < kColumns; ++i)
            sum[i] = column == i ? sum[i] + grad : sum[i];
        } else {
          const Window wd = kernels::pool_window(s.d, d);
          const Window wh = kernels::pool_window(s.h, h);
          const Window ww = kernels::pool_window(s.w, w);
          if (!holds(wd, at.d) || !holds(wh, at.h))
            continue;
          const Wide<T> share =
              grad / static_cast<Wide<T>>(divisor_of(s, wd, wh, ww));
#pragma unroll
          for (int i = 0; i < kColumns; ++i)
            sum[i] = holds(ww, left + i) ? sum[i] + share : sum[i];
        }
      }
    }
  }
  grad_in += at.plane * s.in_positions + position;
  if (packed) {
    store_wide<kColumns>(grad_in, sum);
    return;
  }
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    if (left + i < right)
      grad_in[i] = narrow_of<T>(sum[i]);
  }
}

void divide(Shape& s, int64_t packs, int64_t columns) {
  s.by_pack = make_divider(packs);
  s.by_w = make_divider(columns);
  s.by_h = make_divider(s.h.in);
  s.by_d = make_divider(s.d.in);
}

dim3 blocks_of(int64_t total) {
  return dim3(static_cast<unsigned>((total + kThreads - 1) / kThreads));
}

template <bool Maximum, class T>
void run_rows(engine::Stream& stream, const PoolJob& job) {
  Shape s = make_shape(job);
  const int64_t columns = (s.w.in + kColumns - 1) / kColumns;
  divide(s, 1, columns);
  const int64_t total = job.planes * s.d.in * s.h.in * columns;
  launch(
      stream,
      row_kernel<Maximum, T>,
      blocks_of(total),
      dim3(kThreads),
      0,
      s,
      static_cast<uint32_t>(total),
      s.w.in % kColumns == 0 && packable(job.in),
      static_cast<T*>(job.in),
      static_cast<const T*>(job.out),
      static_cast<const int64_t*>(job.indices));
}

template <bool Maximum, class T, int V>
void run_positions(engine::Stream& stream, const PoolJob& job) {
  Shape s = make_shape(job);
  divide(s, job.depth / V, s.w.in);
  const int64_t total = job.planes * job.in_positions() * job.depth / V;
  launch(
      stream,
      position_kernel<Maximum, T, V>,
      blocks_of(total),
      dim3(kThreads),
      0,
      s,
      static_cast<uint32_t>(total),
      static_cast<T*>(job.in),
      static_cast<const T*>(job.out),
      static_cast<const int64_t*>(job.indices));
}

template <bool Maximum>
void run(engine::Stream& stream, const PoolJob& job) {
  with_floating(job.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (job.depth == 1)
      return run_rows<Maximum, T>(stream, job);
    if (channels_pack<T>(job))
      return run_positions<Maximum, T, kPack<T>>(stream, job);
    run_positions<Maximum, T, 1>(stream, job);
  });
}

} // namespace

void pooling_backward(engine::Stream& stream, const PoolJob& job) {
  job.maximum ? run<true>(stream, job) : run<false>(stream, job);
}

} // namespace musa_standin::engine::cuda
