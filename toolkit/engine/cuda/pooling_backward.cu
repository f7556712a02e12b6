// SPDX-License-Identifier: Apache-2.0
// Pooling backward: each input gathers from the windows that hold it, so that
// sums have one order and need no atomics.
#include "toolkit/engine/cuda/pooling_kernels.cuh"

namespace musa_standin::engine::cuda {
namespace {

// Inputs side by side in a row, of one thread, where channels are planes.
constexpr int kColumns = 4;
// Windows that cover these where they are 3 wide, 2 apart.
constexpr int kFewRows = 2;
constexpr int kFewColumns = 3;

struct Range {
  int32_t first;
  int32_t last;
};

__device__ Range
covering(const Axis& a, const Divider& stride, int32_t begin, int32_t end) {
  const auto by_stride = [&](int32_t n) {
    return static_cast<int32_t>(stride.quotient(static_cast<uint32_t>(n)));
  };
  Range r;
  kernels::pool_covering(a, begin, end, by_stride, r.first, r.last);
  return r;
}

__device__ bool holds(const Window& w, int32_t position) {
  return position >= w.begin && position < w.end;
}

// How far an index lies behind a position. Both are below 2^31: of indices that
// came from elsewhere the other half may say what it likes, since nothing is
// written through them.
__device__ int32_t distance(int64_t index, int32_t position) {
  return static_cast<int32_t>(
      static_cast<uint32_t>(index) - static_cast<uint32_t>(position));
}

template <bool Wanted>
__device__ Window window_if(const Axis& a, int32_t at) {
  if constexpr (Wanted)
    return kernels::pool_window(a, at);
  else
    return {};
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
  const Range ds = covering(s.d, s.stride_d, at.d, at.d + 1);
  const Range hs = covering(s.h, s.stride_h, at.h, at.h + 1);
  const Range ws = covering(s.w, s.stride_w, at.w, at.w + 1);
  Wide<T> sum[V] = {};
  for (int32_t d = ds.first; d < ds.last; ++d) {
    const Window wd = window_if<!Maximum>(s.d, d);
    for (int32_t h = hs.first; h < hs.last; ++h) {
      const Window wh = window_if<!Maximum>(s.h, h);
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
              sum[i + j] = distance(pair.e[j], position) == 0 ? sum[i + j] + g
                                                              : sum[i + j];
            }
          }
        } else {
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

// A thread's positions of a row.
struct Columns {
  int32_t left;
  int32_t right;
  int32_t position; // of the first
  int32_t base;     // of the plane's outputs
};

template <class W>
__device__ void add_at(W (&sum)[kColumns], int32_t column, W grad) {
#pragma unroll
  for (int i = 0; i < kColumns; ++i)
    sum[i] = column == i ? sum[i] + grad : sum[i];
}

// From all windows that may hold the columns.
template <bool Maximum, class T>
__device__ void sum_windows(
    const Shape& s,
    const Place& at,
    const Columns& own,
    const T* grad_out,
    const int64_t* index,
    Wide<T> (&sum)[kColumns]) {
  const Range ds = covering(s.d, s.stride_d, at.d, at.d + 1);
  const Range hs = covering(s.h, s.stride_h, at.h, at.h + 1);
  const Range ws = covering(s.w, s.stride_w, own.left, own.right);
  for (int32_t d = ds.first; d < ds.last; ++d) {
    const Window wd = window_if<!Maximum>(s.d, d);
    for (int32_t h = hs.first; h < hs.last; ++h) {
      const Window wh = window_if<!Maximum>(s.h, h);
      const int32_t row = own.base + (d * s.h.out + h) * s.w.out;
#pragma unroll 4
      for (int32_t w = ws.first; w < ws.last; ++w) {
        const Wide<T> grad = wide_of(grad_out[row + w]);
        if constexpr (Maximum) {
          add_at(sum, distance(index[row + w], own.position), grad);
        } else {
          const Window ww = kernels::pool_window(s.w, w);
          if (!holds(wd, at.d) || !holds(wh, at.h))
            continue;
          const Wide<T> share =
              grad / static_cast<Wide<T>>(divisor_of(s, wd, wh, ww));
#pragma unroll
          for (int i = 0; i < kColumns; ++i)
            sum[i] = holds(ww, own.left + i) ? sum[i] + share : sum[i];
        }
      }
    }
  }
}

// On a plane, from kFewRows x kFewColumns windows at most: all loads first.
template <class T>
__device__ void sum_few(
    const Shape& s,
    const Place& at,
    const Columns& own,
    const T* grad_out,
    const int64_t* index,
    Wide<T> (&sum)[kColumns]) {
  const Range hs = covering(s.h, s.stride_h, at.h, at.h + 1);
  const Range ws = covering(s.w, s.stride_w, own.left, own.right);
  constexpr int kAll = kFewRows * kFewColumns;
  int32_t columns[kAll];
  T grads[kAll];
#pragma unroll
  for (int i = 0; i < kAll; ++i) {
    const int32_t h = hs.first + i / kFewColumns;
    const int32_t w = ws.first + i % kFewColumns;
    columns[i] = -1;
    grads[i] = T{};
    if (h < hs.last && w < ws.last) {
      const auto from = static_cast<uint32_t>(own.base + h * s.w.out + w);
      columns[i] = distance(index[from], own.position);
      grads[i] = grad_out[from];
    }
  }
#pragma unroll
  for (int i = 0; i < kAll; ++i)
    add_at(sum, columns[i], wide_of(grads[i]));
}

// The gradients of kColumns positions of a row, one channel a plane. by_w
// counts threads of a row.
template <bool Maximum, bool Few, class T>
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
  Columns own;
  own.left = at.w * kColumns;
  own.right = min(own.left + kColumns, s.w.in);
  own.position = (at.d * s.h.in + at.h) * s.w.in + own.left;
  own.base = at.plane * s.out_positions;
  Wide<T> sum[kColumns] = {};
  if constexpr (Few)
    sum_few(s, at, own, grad_out, index, sum);
  else
    sum_windows<Maximum>(s, at, own, grad_out, index, sum);
  grad_in += at.plane * s.in_positions + own.position;
  if (packed) {
    store_wide<kColumns>(grad_in, sum);
    return;
  }
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    if (own.left + i < own.right)
      grad_in[i] = narrow_of<T>(sum[i]);
  }
}

// Is a thread's part of the gradient covered by few windows of a plane?
bool are_few(const PoolJob& job) {
  const PoolExtent& d = job.axis[0];
  const auto most = [](const PoolExtent& e, int64_t positions) {
    const int64_t reach = int64_t{e.kernel - 1} * e.dilation + 1;
    return e.adaptive ? kColumns * kColumns
                      : (reach + positions - 2) / e.stride + 1;
  };
  return d.in == 1 && d.out == 1 && most(job.axis[1], 1) <= kFewRows &&
      most(job.axis[2], kColumns) <= kFewColumns;
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
  const auto start = [&](auto kernel) {
    launch(
        stream,
        kernel,
        blocks_of(total),
        dim3(kThreads),
        0,
        s,
        static_cast<uint32_t>(total),
        s.w.in % kColumns == 0 && packable(job.in),
        static_cast<T*>(job.in),
        static_cast<const T*>(job.out),
        static_cast<const int64_t*>(job.indices));
  };
  if constexpr (Maximum) {
    if (are_few(job))
      return start(&row_kernel<true, true, T>);
  }
  start(&row_kernel<Maximum, false, T>);
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
