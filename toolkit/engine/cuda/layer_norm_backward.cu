// SPDX-License-Identifier: Apache-2.0
// Gradients of layer normalisation. With g = grad_out * gamma and h the
// normalised input: grad_in = rstd (g - mean(g) - h mean(g h)).
#include "toolkit/engine/cuda/affine.cuh"
#include "toolkit/engine/cuda/join.cuh"
#include "toolkit/engine/cuda/layer_norm_kernels.h"
#include "toolkit/engine/cuda/row_grid.h"

namespace musa_standin::engine::cuda {
namespace {

constexpr int kHeldThreads = 512; // of a block of `held`, at most

template <class W>
struct Pair {
  W g;       // sum of g
  W product; // and of g h
};

template <class W>
__device__ inline Pair<W> pair_sum(Pair<W> s, int width, Pair<W>* warps) {
  return join_row(s, width, warps, [](const Pair<W>& a, const Pair<W>& b) {
    return Pair<W>{a.g + b.g, a.product + b.product};
  });
}

// Of gamma (which = 0) or beta (1), for column `at`.
template <class T>
__device__ inline void put_affine(
    const LayerNormJob& job,
    int64_t part,
    int which,
    int64_t at,
    kernels::Wide<T> value) {
  if (job.partial != nullptr) {
    static_cast<kernels::Wide<T>*>(
        job.partial)[(part * 2 + which) * job.columns + at] = value;
    return;
  }
  void* to = which == 0 ? job.grad_gamma : job.grad_beta;
  if (to != nullptr)
    store_affine<T>(to, job.wide_affine, at, value);
}

template <class T, int V>
__device__ inline void
load_gamma(const LayerNormJob& job, int64_t at, kernels::Wide<T> (&to)[V]) {
  if (job.gamma != nullptr) {
    load_affine<T>(job.gamma, job.wide_affine, at, to);
    return;
  }
#pragma unroll
  for (int i = 0; i < V; ++i)
    to[i] = 1;
}

// Joins the block's rows of threads for one pack of columns and puts it.
template <class T, int V>
__device__ inline void put_columns(
    const LayerNormJob& job,
    int64_t at,
    bool inside,
    const kernels::Wide<T> (&gamma)[V],
    const kernels::Wide<T> (&beta)[V],
    kernels::Wide<T> (*shared)[V]) {
  using W = kernels::Wide<T>;
  const auto join = [&](const W(&mine)[V], int which) {
    W sum[V];
    const int width = static_cast<int>(blockDim.x);
    const int thread = threadIdx.y * width + threadIdx.x;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < V; ++i)
      shared[thread][i] = sum[i] = mine[i];
    __syncthreads();
    if (threadIdx.y != 0 || !inside)
      return;
    for (int y = 1; y < blockDim.y; ++y) {
#pragma unroll
      for (int i = 0; i < V; ++i)
        sum[i] += shared[y * width + threadIdx.x][i];
    }
#pragma unroll
    for (int i = 0; i < V; ++i)
      put_affine<T>(job, blockIdx.x, which, at + i, sum[i]);
  };
  join(gamma, 0);
  join(beta, 1);
}

// Each thread keeps its columns over all rows, and so sums up for gamma and
// beta on the way.
template <class T, int V, int Each>
__global__ void __launch_bounds__(kHeldThreads, held_blocks(V* Each) / 2)
    held(LayerNormJob job) {
  using W = kernels::Wide<T>;
  __shared__ Pair<W> warps[kMaxWarps];
  __shared__ W shared[kHeldThreads][V];
  const int width = static_cast<int>(blockDim.x);
  const int packs = static_cast<int>(job.columns / V);
  const W share = W(1) / static_cast<W>(job.columns);
  W gamma[Each][V];
  W sum_gamma[Each][V] = {};
  W sum_beta[Each][V] = {};
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    const int p = threadIdx.x + k * width;
    if (p < packs)
      load_gamma<T>(job, p * V, gamma[k]);
  }
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  // All threads of the block go round as often.
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.y;
       first < job.rows;
       first += step) {
    const int64_t row = first + threadIdx.y;
    const bool active = row < job.rows;
    const T* x = static_cast<const T*>(job.in) + row * job.columns;
    const T* grad = static_cast<const T*>(job.grad_out) + row * job.columns;
    W h[Each][V];
    W g[Each][V];
#pragma unroll
    for (int k = 0; k < Each; ++k) {
      const int p = threadIdx.x + k * width;
      if (active && p < packs) {
        load_wide<V>(x + p * V, h[k]);
        load_wide<V>(grad + p * V, g[k]);
      }
    }
    const W mean = active ? static_cast<const W*>(job.mean)[row] : W(0);
    const W rstd = active ? static_cast<const W*>(job.rstd)[row] : W(0);
    Pair<W> sums = {0, 0};
#pragma unroll
    for (int k = 0; k < Each; ++k) {
      if (active && threadIdx.x + k * width < packs) {
#pragma unroll
        for (int i = 0; i < V; ++i) {
          h[k][i] = (h[k][i] - mean) * rstd;
          sum_gamma[k][i] += g[k][i] * h[k][i];
          sum_beta[k][i] += g[k][i];
          g[k][i] *= gamma[k][i];
          sums.g += g[k][i];
          sums.product += g[k][i] * h[k][i];
        }
      }
    }
    if (job.out == nullptr)
      continue;
    sums = pair_sum(sums, width, warps);
    const W centre = sums.g * share;
    const W slope = sums.product * share;
    T* out = static_cast<T*>(job.out) + row * job.columns;
#pragma unroll
    for (int k = 0; k < Each; ++k) {
      const int p = threadIdx.x + k * width;
      if (active && p < packs) {
#pragma unroll
        for (int i = 0; i < V; ++i)
          g[k][i] = (g[k][i] - centre - h[k][i] * slope) * rstd;
        store_wide<V>(out + p * V, g[k]);
      }
    }
  }
  if (job.grad_gamma == nullptr && job.grad_beta == nullptr)
    return;
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    const int p = threadIdx.x + k * width;
    put_columns<T, V>(
        job,
        static_cast<int64_t>(p) * V,
        p < packs,
        sum_gamma[k],
        sum_beta[k],
        shared);
  }
}

// The input's gradient alone. Rows start at whole packs if V is more than one.
template <class T, int V>
__global__ void __launch_bounds__(kRowThreads) walked(LayerNormJob job) {
  using W = kernels::Wide<T>;
  __shared__ Pair<W> warps[kMaxWarps];
  const int64_t row = blockIdx.x;
  const T* x = static_cast<const T*>(job.in) + row * job.columns;
  const T* grad = static_cast<const T*>(job.grad_out) + row * job.columns;
  T* out = static_cast<T*>(job.out) + row * job.columns;
  const W mean = static_cast<const W*>(job.mean)[row];
  const W rstd = static_cast<const W*>(job.rstd)[row];
  const int64_t packs = job.columns / V;
  const auto load = [&](int64_t at, W(&h)[V], W(&g)[V]) {
    W gamma[V];
    load_wide<V>(x + at, h);
    load_wide<V>(grad + at, g);
    load_gamma<T>(job, at, gamma);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      h[i] = (h[i] - mean) * rstd;
      g[i] *= gamma[i];
    }
  };
  Pair<W> sums = {0, 0};
#pragma unroll 2
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    W h[V];
    W g[V];
    load(p * V, h, g);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      sums.g += g[i];
      sums.product += g[i] * h[i];
    }
  }
  sums = pair_sum(sums, static_cast<int>(blockDim.x), warps);
  const W centre = sums.g / static_cast<W>(job.columns);
  const W slope = sums.product / static_cast<W>(job.columns);
#pragma unroll 2
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    W h[V];
    W g[V];
    load(p * V, h, g);
#pragma unroll
    for (int i = 0; i < V; ++i)
      g[i] = (g[i] - centre - h[i] * slope) * rstd;
    store_wide<V>(out + p * V, g);
  }
}

template <class T>
__global__ void __launch_bounds__(kWarp* kDownThreads)
    affine(LayerNormJob job) {
  using W = kernels::Wide<T>;
  __shared__ W shared[kDownThreads][kWarp][2];
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  const int64_t part = blockIdx.y;
  const bool inside = at < job.columns;
  W gamma = 0;
  W beta = 0;
  const int64_t end = job.rows * (part + 1) / job.parts;
#pragma unroll 4
  for (int64_t row = job.rows * part / job.parts + threadIdx.y;
       inside && row < end;
       row += kDownThreads) {
    const int64_t i = row * job.columns + at;
    const W g = wide_of(static_cast<const T*>(job.grad_out)[i]);
    const W x = wide_of(static_cast<const T*>(job.in)[i]);
    gamma += g * (x - static_cast<const W*>(job.mean)[row]) *
        static_cast<const W*>(job.rstd)[row];
    beta += g;
  }
  shared[threadIdx.y][threadIdx.x][0] = gamma;
  shared[threadIdx.y][threadIdx.x][1] = beta;
  __syncthreads();
  const int which = static_cast<int>(threadIdx.y);
  if (which > 1 || !inside)
    return;
  W sum = shared[0][threadIdx.x][which];
#pragma unroll
  for (int y = 1; y < kDownThreads; ++y)
    sum += shared[y][threadIdx.x][which];
  put_affine<T>(job, part, which, at, sum);
}

// blockIdx.y: gamma or beta.
template <class T>
__global__ void __launch_bounds__(kWarp* kJoinThreads)
    join_parts(LayerNormJob job) {
  using W = kernels::Wide<T>;
  __shared__ W shared[kJoinThreads][kWarp];
  const int which = static_cast<int>(blockIdx.y);
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  const bool inside = at < job.columns;
  const W* from = static_cast<const W*>(job.partial);
  W sum = 0;
#pragma unroll 4
  for (int64_t part = threadIdx.y; inside && part < job.parts;
       part += kJoinThreads)
    sum += from[(part * 2 + which) * job.columns + at];
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  void* to = which == 0 ? job.grad_gamma : job.grad_beta;
  if (threadIdx.y != 0 || !inside || to == nullptr)
    return;
#pragma unroll
  for (int y = 1; y < kJoinThreads; ++y)
    sum += shared[y][threadIdx.x];
  store_affine<T>(to, job.wide_affine, at, sum);
}

template <class T>
LayerNormKernel held_kernel(bool packed, int each) {
  if (!packed)
    return each == 1 ? held<T, 1, 1> : held<T, 1, 8>;
  constexpr int kV = kPack<T>;
  switch (each) {
  case 1:
    return held<T, kV, 1>;
  case 2:
    return held<T, kV, 2>;
  default:
    return held < T, kV, kV < 8 ? 4 : 2 > ;
  }
}

template <class T>
LayerNormBackwardKernels kernels_of() {
  constexpr int kV = kPack<T>;
  return {
      {held_kernel<T>, walked<T, kV>, walked<T, 1>, kV, kV < 8 ? 4 : 2, 8},
      affine<T>,
      join_parts<T>};
}

} // namespace

LayerNormBackwardKernels layer_norm_backward_kernels(Dtype dtype) {
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
