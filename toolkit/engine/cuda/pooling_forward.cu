// SPDX-License-Identifier: Apache-2.0
// Pooling forward: a thread an output, or several where windows are large.
#include "toolkit/engine/cuda/pooling_kernels.cuh"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

// A later value wins if it is larger, or not a number.
template <class T, int V>
struct Maximum {
  static constexpr bool kIsMaximum = true;
  Wide<T> best[V];
  int32_t at[V];

  __device__ explicit Maximum(int32_t first) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      best[i] = -static_cast<Wide<T>>(kernels::kInfinity);
      at[i] = first;
    }
  }
  __device__ void take(const Pack<T, V>& values, int32_t position) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const Wide<T> v = wide_of(values.e[i]);
      const bool wins = (v > best[i]) | (v != v);
      best[i] = wins ? v : best[i];
      at[i] = wins ? position : at[i];
    }
  }
  // Of two parts of a window that overlap in no position.
  __device__ void join(Wide<T> v, int32_t position) {
    const bool later = position > at[0];
    const bool nan = v != v;
    const bool wins = nan ? (later | (best[0] == best[0]))
                          : (v > best[0] || (v == best[0] && !later));
    best[0] = wins ? v : best[0];
    at[0] = wins ? position : at[0];
  }
  __device__ Wide<T> result(int i, Wide<T> /*divisor*/) const {
    return best[i];
  }
};

template <class T, int V>
struct Mean {
  static constexpr bool kIsMaximum = false;
  Wide<T> best[V];
  int32_t at[V];

  __device__ explicit Mean(int32_t /*first*/) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      best[i] = 0;
      at[i] = 0;
    }
  }
  __device__ void take(const Pack<T, V>& values, int32_t /*position*/) {
#pragma unroll
    for (int i = 0; i < V; ++i)
      best[i] += wide_of(values.e[i]);
  }
  __device__ void join(Wide<T> v, int32_t /*position*/) { best[0] += v; }
  // A window that holds padding alone gives 0.
  __device__ Wide<T> result(int i, Wide<T> divisor) const {
    return divisor != 0 ? best[i] / divisor : best[i];
  }
};

// A square window without dilation on one plane, of which some position lies
// inside: all loads first. Those outside are moved to the border, where the
// largest has been seen already, or is about to be.
template <int Size, class T, int V, class Fold>
__device__ int32_t fold_square(
    const Shape& s,
    const Place& at,
    const T* in,
    uint32_t base,
    Fold& fold) {
  const int32_t top = at.h * s.h.stride - s.h.pad;
  const int32_t left = at.w * s.w.stride - s.w.pad;
  int32_t rows[Size];
  int32_t columns[Size];
  int32_t rows_inside = 0;
  int32_t columns_inside = 0;
#pragma unroll
  for (int i = 0; i < Size; ++i) {
    const int32_t h = min(max(top + i, 0), s.h.in - 1);
    const int32_t w = min(max(left + i, 0), s.w.in - 1);
    rows_inside += h == top + i ? 1 : 0;
    columns_inside += w == left + i ? 1 : 0;
    rows[i] = h * s.w.in;
    columns[i] = w;
  }
  fold = Fold(rows[0] + columns[0]);
  // Unsigned offsets from one pointer cost an instruction each.
  Pack<T, V> values[Size * Size];
#pragma unroll
  for (int i = 0; i < Size * Size; ++i) {
    const int32_t row = rows[i / Size] * s.depth;
    const int32_t column = columns[i % Size] * s.depth;
    values[i] = load_pack<V>(in + (base + static_cast<uint32_t>(row + column)));
  }
#pragma unroll
  for (int i = 0; i < Size * Size; ++i) {
    // A sum has no use for what is outside.
    const int32_t w = left + i % Size;
    const int32_t h = top + i / Size;
    if (Fold::kIsMaximum || (h >= 0 && h < s.h.in && w >= 0 && w < s.w.in))
      fold.take(values[i], rows[i / Size] + columns[i % Size]);
  }
  if (s.divisor != 0)
    return s.divisor;
  return s.count_padding ? (min(top + Size, s.h.in + s.h.pad) - top) *
          (min(left + Size, s.w.in + s.w.pad) - left)
                         : rows_inside * columns_inside;
}

struct Windows {
  Window d;
  Window h;
  Window w;
  __device__ int32_t first(const Shape& s) const {
    return (d.begin * s.h.in + h.begin) * s.w.in + w.begin;
  }
};

__device__ Windows windows_of(const Shape& s, const Place& at) {
  return {
      kernels::pool_window(s.d, at.d),
      kernels::pool_window(s.h, at.h),
      kernels::pool_window(s.w, at.w)};
}

template <class T, int V, class Fold>
__device__ void
fold_window(const Shape& s, const Windows& at, const T* in, Fold& fold) {
  // Average pooling takes every position.
  const int32_t step_d = Fold::kIsMaximum ? s.d.dilation : 1;
  const int32_t step_h = Fold::kIsMaximum ? s.h.dilation : 1;
  const int32_t step_w = Fold::kIsMaximum ? s.w.dilation : 1;
  for (int32_t d = at.d.begin; d < at.d.end; d += step_d) {
    for (int32_t h = at.h.begin; h < at.h.end; h += step_h) {
      const int32_t row = (d * s.h.in + h) * s.w.in;
#pragma unroll 4
      for (int32_t w = at.w.begin; w < at.w.end; w += step_w)
        fold.take(load_pack<V>(in + (row + w) * s.depth), row + w);
    }
  }
}

template <template <class, int> class Op, class T, int V, int Size>
__global__ void __launch_bounds__(kThreads) forward_kernel(
    Shape s,
    uint32_t total,
    const T* __restrict__ in,
    T* __restrict__ out,
    int64_t* __restrict__ index) {
  using Fold = Op<T, V>;
  const uint32_t n = blockIdx.x * kThreads + threadIdx.x;
  if (n >= total)
    return;
  const Place at = place_of(s, n);
  const auto base =
      static_cast<uint32_t>(at.plane * s.in_positions * s.depth + at.pack * V);
  Wide<T> divisor = 0;
  Fold fold(0);
  if constexpr (Size != 0) {
    const int32_t positions = fold_square<Size, T, V>(s, at, in, base, fold);
    if (!Fold::kIsMaximum)
      divisor = static_cast<Wide<T>>(positions);
  } else {
    const Windows windows = windows_of(s, at);
    fold = Fold(windows.first(s));
    fold_window<T, V>(s, windows, in + base, fold);
    if (!Fold::kIsMaximum)
      divisor =
          static_cast<Wide<T>>(divisor_of(s, windows.d, windows.h, windows.w));
  }
  Wide<T> result[V];
#pragma unroll
  for (int i = 0; i < V; ++i)
    result[i] = fold.result(i, divisor);
  store_wide<V>(out + int64_t{n} * V, result);
  if (Fold::kIsMaximum && index != nullptr) {
    constexpr int kPair = V < 2 ? V : 2;
#pragma unroll
    for (int i = 0; i < V; i += kPair) {
      Pack<int64_t, kPair> pair;
#pragma unroll
      for (int j = 0; j < kPair; ++j)
        pair.e[j] = fold.at[i + j];
      *reinterpret_cast<Pack<int64_t, kPair>*>(index + int64_t{n} * V + i) =
          pair;
    }
  }
}

// One of `parts` shares of a window.
template <class T, class Fold>
__device__ void fold_part(
    const Shape& s,
    const Windows& at,
    const T* in,
    int32_t part,
    int32_t parts,
    Fold& fold) {
  const int32_t step_d = Fold::kIsMaximum ? s.d.dilation : 1;
  const int32_t step_h = Fold::kIsMaximum ? s.h.dilation : 1;
  const int32_t step_w = Fold::kIsMaximum ? s.w.dilation : 1;
  const int32_t rows = (length(at.h) + step_h - 1) / step_h;
  const int32_t columns = (length(at.w) + step_w - 1) / step_w;
  const int32_t count = (length(at.d) + step_d - 1) / step_d * rows * columns;
#pragma unroll 4
  for (int32_t i = part; i < count; i += parts) {
    // One row needs no division.
    int32_t d = 0;
    int32_t h = 0;
    int32_t w = i;
    if (count != columns) {
      h = i / columns;
      w = i - h * columns;
      d = h / rows;
      h -= d * rows;
    }
    const int32_t row =
        (at.d.begin + d * step_d) * s.h.in + at.h.begin + h * step_h;
    const int32_t position = row * s.w.in + at.w.begin + w * step_w;
    fold.take(load_pack<1>(in + position * s.depth), position);
  }
}

// Large windows: blocks of (channels, parts of a window, outputs).
template <template <class, int> class Op, class T>
__global__ void __launch_bounds__(kThreads) large_kernel(
    Shape s,
    uint32_t outputs, // positions in all planes
    const T* __restrict__ in,
    T* __restrict__ out,
    int64_t* __restrict__ index) {
  using Fold = Op<T, 1>;
  __shared__ Wide<T> values[kThreads];
  __shared__ int32_t places[kThreads];
  const uint32_t n = blockIdx.x * blockDim.z + threadIdx.z;
  const bool works = n < outputs;
  const Place at = place_of(s, works ? n : 0);
  const Windows windows = windows_of(s, at);
  const auto parts = static_cast<int32_t>(blockDim.y);
  const auto part = static_cast<int32_t>(threadIdx.y);
  const auto lanes = static_cast<int32_t>(blockDim.x);
  const auto lane = static_cast<int32_t>(threadIdx.x);
  const int32_t me =
      (static_cast<int32_t>(threadIdx.z) * parts + part) * lanes + lane;
  const T* const plane = in + at.plane * s.in_positions * s.depth;
  for (int32_t tile = static_cast<int32_t>(blockIdx.y) * lanes; tile < s.depth;
       tile += static_cast<int32_t>(gridDim.y) * lanes) {
    const int32_t c = tile + lane;
    const bool reads = works && c < s.depth;
    Fold fold(windows.first(s));
    if (reads)
      fold_part(s, windows, plane + c, part, parts, fold);
    values[me] = fold.best[0];
    places[me] = fold.at[0];
    for (int32_t half = parts / 2; half > 0; half /= 2) {
      __syncthreads();
      if (part < half) {
        fold.join(values[me + half * lanes], places[me + half * lanes]);
        values[me] = fold.best[0];
        places[me] = fold.at[0];
      }
    }
    if (part == 0 && reads) {
      const int32_t divisor =
          Fold::kIsMaximum ? 0 : divisor_of(s, windows.d, windows.h, windows.w);
      const int64_t to = int64_t{n} * s.depth + c;
      out[to] = narrow_of<T>(fold.result(0, static_cast<Wide<T>>(divisor)));
      if (Fold::kIsMaximum && index != nullptr)
        index[to] = fold.at[0];
    }
    __syncthreads();
  }
}

// Has every window of an axis without dilation a position inside?
bool reaches(const PoolExtent& e) {
  return e.dilation == 1 && !e.adaptive && e.pad < e.kernel &&
      int64_t{e.out - 1} * e.stride - e.pad < e.in;
}

// Is the window the same square on every position?
int square_size(const PoolJob& job) {
  const PoolExtent& d = job.axis[0];
  const PoolExtent& h = job.axis[1];
  const PoolExtent& w = job.axis[2];
  const bool flat = d.in == 1 && d.out == 1 && d.pad == 0 && d.kernel == 1;
  const bool fits = flat && reaches(h) && reaches(w) && h.kernel == w.kernel;
  return fits && (w.kernel == 2 || w.kernel == 3) ? w.kernel : 0;
}

int64_t positions_of(const PoolExtent& e) {
  return e.adaptive ? e.in / e.out + 1 : std::min(e.kernel, e.in);
}

// Do several threads share an output? If a thread would walk far from its
// neighbour's elements, or too few of them had work.
bool is_large(const PoolJob& job) {
  const int64_t window = positions_of(job.axis[0]) * positions_of(job.axis[1]) *
      positions_of(job.axis[2]);
  if (window < 32)
    return false;
  const int64_t outputs = job.planes * job.out_positions() * job.depth;
  const PoolExtent& w = job.axis[2];
  const int64_t stride = w.adaptive ? w.in / w.out : w.stride;
  return outputs < (int64_t{1} << 16) || (job.depth == 1 && stride >= 8);
}

void divide(Shape& s, int64_t packs) {
  s.by_pack = make_divider(packs);
  s.by_w = make_divider(s.w.out);
  s.by_h = make_divider(s.h.out);
  s.by_d = make_divider(s.d.out);
}

template <template <class, int> class Op, class T>
void run_large(engine::Stream& stream, const PoolJob& job) {
  Shape s = make_shape(job);
  divide(s, 1);
  const int64_t outputs = job.planes * job.out_positions();
  unsigned lanes = 1;
  while (lanes < 32 && static_cast<int32_t>(lanes) < job.depth)
    lanes *= 2;
  const int64_t window = positions_of(job.axis[0]) * positions_of(job.axis[1]) *
      positions_of(job.axis[2]);
  unsigned parts = kThreads / lanes;
  // Few positions each are enough while there are other outputs.
  while (parts > 8 && parts * 2 > window)
    parts /= 2;
  const unsigned side = kThreads / lanes / parts;
  const int64_t tiles = (job.depth + lanes - 1) / lanes;
  launch(
      stream,
      large_kernel<Op, T>,
      dim3(
          static_cast<unsigned>((outputs + side - 1) / side),
          static_cast<unsigned>(std::min<int64_t>(tiles, 65535))),
      dim3(lanes, parts, side),
      0,
      s,
      static_cast<uint32_t>(outputs),
      static_cast<const T*>(job.in),
      static_cast<T*>(job.out),
      job.indices);
}

template <template <class, int> class Op, class T, int V, int Size>
void run_small(engine::Stream& stream, const PoolJob& job) {
  Shape s = make_shape(job);
  divide(s, job.depth / V);
  const int64_t total = job.planes * job.out_positions() * job.depth / V;
  launch(
      stream,
      forward_kernel<Op, T, V, Size>,
      dim3(static_cast<unsigned>((total + kThreads - 1) / kThreads)),
      dim3(kThreads),
      0,
      s,
      static_cast<uint32_t>(total),
      static_cast<const T*>(job.in),
      static_cast<T*>(job.out),
      job.indices);
}

template <template <class, int> class Op, class T, int V>
void run_sized(engine::Stream& stream, const PoolJob& job) {
  // Doubles are rare: no code of their own for small squares.
  const int size = sizeof(T) == 8 ? 0 : square_size(job);
  if constexpr (sizeof(T) != 8) {
    if (size == 2)
      return run_small<Op, T, V, 2>(stream, job);
    if (size == 3)
      return run_small<Op, T, V, 3>(stream, job);
  }
  run_small<Op, T, V, 0>(stream, job);
}

template <template <class, int> class Op>
void run(engine::Stream& stream, const PoolJob& job) {
  with_floating(job.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (is_large(job))
      return run_large<Op, T>(stream, job);
    if (channels_pack<T>(job))
      return run_sized<Op, T, kPack<T>>(stream, job);
    run_sized<Op, T, 1>(stream, job);
  });
}

} // namespace

void pooling_forward(engine::Stream& stream, const PoolJob& job) {
  job.maximum ? run<Maximum>(stream, job) : run<Mean>(stream, job);
}

} // namespace musa_standin::engine::cuda
