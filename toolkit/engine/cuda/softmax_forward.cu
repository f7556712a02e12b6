// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm and logsumexp.
#include "toolkit/engine/cuda/join.cuh"
#include "toolkit/engine/cuda/row_grid.h"
#include "toolkit/engine/cuda/softmax_kernels.h"
#include "toolkit/engine/cuda/walk.cuh"

#include "toolkit/kernels/math.h"

namespace musa_standin::engine::cuda {
namespace {

template <class W>
__device__ inline W infinity() {
  return static_cast<W>(kernels::kInfinity);
}
template <class W>
__device__ inline W greater(W a, W b) {
  return a > b ? a : b;
}

// What is subtracted before exp: the maximum, or 0 in place of an infinite one
// where that leaves the result defined.
template <class W>
__device__ inline W shift_of(W maximum, SoftmaxMode mode) {
  const bool infinite = maximum == infinity<W>() || maximum == -infinity<W>();
  return mode == SoftmaxMode::kLogSumExp && infinite ? W(0) : maximum;
}

// Sum of the exponentials of what was seen, less the shift.
template <class W>
struct Online {
  W maximum;
  W sum;
};

// The shift while a part of a row was seen: that part alone may be -inf.
template <class W>
__device__ inline W part_shift(W maximum, SoftmaxMode mode) {
  return maximum == -infinity<W>() ? W(0) : shift_of(maximum, mode);
}
template <class W>
__device__ inline W rescaled(const Online<W>& s, W shift, SoftmaxMode mode) {
  // Nothing but -inf so far: 0, or a NaN that shall stay.
  if (s.maximum == -infinity<W>())
    return s.sum;
  return s.sum * ::exp(part_shift(s.maximum, mode) - shift);
}
template <class W>
__device__ inline Online<W>
join(const Online<W>& a, const Online<W>& b, SoftmaxMode mode) {
  const W maximum = greater(a.maximum, b.maximum);
  const W shift = part_shift(maximum, mode);
  return {maximum, rescaled(a, shift, mode) + rescaled(b, shift, mode)};
}
template <int V, class W>
__device__ inline void take(Online<W>& s, const W (&v)[V], SoftmaxMode mode) {
  W maximum = s.maximum;
#pragma unroll
  for (int i = 0; i < V; ++i)
    maximum = greater(v[i], maximum);
  const W shift = part_shift(maximum, mode);
  if (maximum != s.maximum)
    s = {maximum, rescaled(s, shift, mode)};
#pragma unroll
  for (int i = 0; i < V; ++i)
    s.sum += ::exp(v[i] - shift);
}

// What all elements of a row have in common.
template <class W>
struct Row {
  W shift;
  W factor;  // of the exponentials
  W log_sum; // 0 where it is not wanted
};

template <class W>
__device__ inline Row<W> row_of(W maximum, W sum, SoftmaxMode mode) {
  const bool plain = mode == SoftmaxMode::kSoftmax;
  return {
      shift_of(maximum, mode),
      plain ? W(1) / sum : W(0),
      plain ? W(0) : ::log(sum)};
}

template <class T, int V, int Each>
__global__ void __launch_bounds__(kRowThreads) held(SoftmaxJob job) {
  using W = kernels::Wide<T>;
  __shared__ W warps[kMaxWarps];
  const int width = static_cast<int>(blockDim.x);
  const int64_t row =
      static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const bool active = row < job.outer;
  const int packs = static_cast<int>(job.extent / V);
  const T* x = static_cast<const T*>(job.in) + row * job.extent;
  W v[Each][V];
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    const int p = threadIdx.x + k * width;
    if (active && p < packs) {
      load_wide<V>(x + p * V, v[k]);
    } else {
#pragma unroll
      for (int i = 0; i < V; ++i)
        v[k][i] = -infinity<W>();
    }
  }
  W maximum = v[0][0];
#pragma unroll
  for (int k = 0; k < Each; ++k) {
#pragma unroll
    for (int i = 0; i < V; ++i)
      maximum = greater(v[k][i], maximum);
  }
  maximum = join_row(maximum, width, warps, greater<W>);
  const W shift = shift_of(maximum, job.mode);
  const bool plain = job.mode == SoftmaxMode::kSoftmax;
  W sum = 0;
#pragma unroll
  for (int k = 0; k < Each; ++k) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const W e = ::exp(v[k][i] - shift);
      sum += e;
      v[k][i] = plain ? e : v[k][i] - shift;
    }
  }
  const Row<W> r = row_of(maximum, row_sum(sum, width, warps), job.mode);
  if (!active)
    return;
  if (job.mode == SoftmaxMode::kLogSumExp) {
    if (threadIdx.x == 0)
      static_cast<T*>(job.out)[row] = narrow_of<T>(r.shift + r.log_sum);
    return;
  }
  T* out = static_cast<T*>(job.out) + row * job.extent;
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    const int p = threadIdx.x + k * width;
    if (p < packs) {
#pragma unroll
      for (int i = 0; i < V; ++i)
        v[k][i] = plain ? v[k][i] * r.factor : v[k][i] - r.log_sum;
      store_wide<V>(out + p * V, v[k]);
    }
  }
}

template <class W>
__device__ inline W finished(W v, const Row<W>& r, SoftmaxMode mode) {
  return mode == SoftmaxMode::kSoftmax ? ::exp(v - r.shift) * r.factor
                                       : (v - r.shift) - r.log_sum;
}

template <class T, int V>
__device__ inline void
finish(T* out, const T* x, const Row<kernels::Wide<T>>& r, SoftmaxMode mode) {
  kernels::Wide<T> v[V];
  load_wide<V>(x, v);
#pragma unroll
  for (int i = 0; i < V; ++i)
    v[i] = finished(v[i], r, mode);
  store_wide<V>(out, v);
}

template <class T, int V>
__global__ void __launch_bounds__(kRowThreads) walked(SoftmaxJob job) {
  using W = kernels::Wide<T>;
  __shared__ Online<W> warps[kMaxWarps];
  const SoftmaxMode mode = job.mode;
  const int64_t n = job.extent;
  const T* x = static_cast<const T*>(job.in) + blockIdx.x * n;
  Online<W> s = {-infinity<W>(), 0};
  walk<T, V>(
      x,
      n,
      [&](int64_t i) {
        const W v[1] = {wide_of(x[i])};
        take(s, v, mode);
      },
      [&](int64_t i) {
        W v[V];
        load_wide<V>(x + i, v);
        take(s, v, mode);
      });
  s = join_row(
      s,
      static_cast<int>(blockDim.x),
      warps,
      [mode](const Online<W>& a, const Online<W>& b) {
        return join(a, b, mode);
      });
  const Row<W> r = row_of(s.maximum, s.sum, mode);
  if (mode == SoftmaxMode::kLogSumExp) {
    if (threadIdx.x == 0)
      static_cast<T*>(job.out)[blockIdx.x] = narrow_of<T>(r.shift + r.log_sum);
    return;
  }
  T* out = static_cast<T*>(job.out) + blockIdx.x * n;
  walk<T, V>(
      x,
      n,
      [&](int64_t i) { finish<T, 1>(out + i, x + i, r, mode); },
      [&](int64_t i) { finish<T, V>(out + i, x + i, r, mode); });
}

template <class T>
__global__ void __launch_bounds__(kWarp* kLineThreads) lines(SoftmaxJob job) {
  using W = kernels::Wide<T>;
  constexpr int kAtOnce = 4;
  __shared__ Online<W> parts[kLineThreads][kWarp];
  const SoftmaxMode mode = job.mode;
  const int64_t line = static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  const bool active = line < job.outer * job.inner;
  const int64_t outer = line / job.inner;
  const int64_t first = outer * job.extent * job.inner + line % job.inner;
  const T* x = static_cast<const T*>(job.in) + first;
  Online<W> s = {-infinity<W>(), 0};
  if (active) {
    int64_t k = threadIdx.y;
    for (; k + (kAtOnce - 1) * kLineThreads < job.extent;
         k += kAtOnce * kLineThreads) {
      W v[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        v[i] = wide_of(x[(k + i * kLineThreads) * job.inner]);
      take(s, v, mode);
    }
    for (; k < job.extent; k += kLineThreads) {
      const W v[1] = {wide_of(x[k * job.inner])};
      take(s, v, mode);
    }
  }
  parts[threadIdx.y][threadIdx.x] = s;
  __syncthreads();
  if (!active)
    return;
  s = parts[0][threadIdx.x];
#pragma unroll
  for (int y = 1; y < kLineThreads; ++y)
    s = join(s, parts[y][threadIdx.x], mode);
  const Row<W> r = row_of(s.maximum, s.sum, mode);
  if (mode == SoftmaxMode::kLogSumExp) {
    if (threadIdx.y == 0)
      static_cast<T*>(job.out)[line] = narrow_of<T>(r.shift + r.log_sum);
    return;
  }
  T* out = static_cast<T*>(job.out) + first;
#pragma unroll 4
  for (int64_t k = threadIdx.y; k < job.extent; k += kLineThreads)
    out[k * job.inner] =
        narrow_of<T>(finished(wide_of(x[k * job.inner]), r, mode));
}

template <class T>
SoftmaxKernel held_kernel(bool packed, int each) {
  if (!packed)
    return each == 1 ? held<T, 1, 1> : held<T, 1, 4>;
  constexpr int kV = kPack<T>;
  switch (each) {
  case 1:
    return held<T, kV, 1>;
  case 2:
    return held<T, kV, 2>;
  case 4:
    return held<T, kV, 4>;
  default:
    return held < T, kV, kV < 8 ? 8 : 4 > ;
  }
}

template <class T>
SoftmaxKernels kernels_of() {
  constexpr int kV = kPack<T>;
  return {
      held_kernel<T>,
      walked<T, kV>,
      walked<T, 1>,
      lines<T>,
      kV,
      kV < 8 ? 8 : 4,
      4};
}

} // namespace

SoftmaxKernels softmax_forward_kernels(Dtype dtype) {
  switch (dtype) {
  case Dtype::kHalf:
    return kernels_of<kernels::Half>();
  case Dtype::kBfloat16:
    return kernels_of<kernels::Bfloat16>();
  case Dtype::kDouble:
    return kernels_of<double>();
  default:
    return kernels_of<float>();
  }
}

} // namespace musa_standin::engine::cuda
