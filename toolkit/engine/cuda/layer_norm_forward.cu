// SPDX-License-Identifier: Apache-2.0
// Layer normalisation.
#include "toolkit/engine/cuda/affine.cuh"
#include "toolkit/engine/cuda/join.cuh"
#include "toolkit/engine/cuda/layer_norm_kernels.h"
#include "toolkit/engine/cuda/moments.cuh"
#include "toolkit/engine/cuda/row_grid.h"
#include "toolkit/engine/cuda/walk.cuh"

namespace musa_standin::engine::cuda {
namespace {

template <class W>
__device__ inline W
keep(const LayerNormJob& job, int64_t row, W mean, W variance) {
  const W rstd = W(1) / ::sqrt(variance + static_cast<W>(job.epsilon));
  if (threadIdx.x == 0) {
    if (job.mean != nullptr)
      static_cast<W*>(job.mean)[row] = mean;
    if (job.rstd != nullptr)
      static_cast<W*>(job.rstd)[row] = rstd;
  }
  return rstd;
}

// Writes V elements from column `at` on.
template <class T, int V>
__device__ inline void put(
    const LayerNormJob& job,
    int64_t row,
    int64_t at,
    kernels::Wide<T> mean,
    kernels::Wide<T> rstd,
    kernels::Wide<T> (&v)[V]) {
  using W = kernels::Wide<T>;
#pragma unroll
  for (int i = 0; i < V; ++i)
    v[i] = (v[i] - mean) * rstd;
  if (job.gamma != nullptr) {
    W gamma[V];
    W beta[V];
    load_affine<T>(job.gamma, job.wide_affine, at, gamma);
    load_affine<T>(job.beta, job.wide_affine, at, beta);
#pragma unroll
    for (int i = 0; i < V; ++i)
      v[i] = v[i] * gamma[i] + beta[i];
  }
  store_wide<V>(static_cast<T*>(job.out) + row * job.columns + at, v);
}

template <class T, int V, int Each>
__global__ void __launch_bounds__(kRowThreads) held(LayerNormJob job) {
  using W = kernels::Wide<T>;
  __shared__ W warps[kMaxWarps];
  const int width = static_cast<int>(blockDim.x);
  const int64_t row =
      static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const bool active = row < job.rows;
  const int packs = static_cast<int>(job.columns / V);
  const T* x = static_cast<const T*>(job.in) + row * job.columns;
  W v[Each][V];
  W sum = 0;
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    const int p = threadIdx.x + k * width;
    if (active && p < packs) {
      load_wide<V>(x + p * V, v[k]);
    } else {
#pragma unroll
      for (int i = 0; i < V; ++i)
        v[k][i] = 0;
    }
  }
#pragma unroll
  for (int k = 0; k < Each; ++k) {
#pragma unroll
    for (int i = 0; i < V; ++i)
      sum += v[k][i];
  }
  const W share = W(1) / static_cast<W>(job.columns);
  const W mean = row_sum(sum, width, warps) * share;
  W squares = 0;
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    if (threadIdx.x + k * width < packs) {
#pragma unroll
      for (int i = 0; i < V; ++i)
        squares += (v[k][i] - mean) * (v[k][i] - mean);
    }
  }
  const W variance = row_sum(squares, width, warps) * share;
  if (!active)
    return;
  const W rstd = keep(job, row, mean, variance);
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    const int p = threadIdx.x + k * width;
    if (p < packs)
      put<T, V>(job, row, p * V, mean, rstd, v[k]);
  }
}

// Rows start at whole packs if V is more than one.
template <class T, int V>
__global__ void __launch_bounds__(kRowThreads) walked(LayerNormJob job) {
  using W = kernels::Wide<T>;
  __shared__ Moments<W> warps[kMaxWarps];
  const int64_t row = blockIdx.x;
  const T* x = static_cast<const T*>(job.in) + row * job.columns;
  const int64_t packs = job.columns / V;
  Moments<W> m = {0, 0, 0};
#pragma unroll 4
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    W v[V];
    load_wide<V>(x + p * V, v);
    take_moments(m, v);
  }
  m = join_row(
      m,
      static_cast<int>(blockDim.x),
      warps,
      [](const Moments<W>& a, const Moments<W>& b) {
        return join_moments(a, b);
      });
  // Threads' roundings may differ by their order: all take the first's.
  __syncthreads();
  if (threadIdx.x == 0)
    warps[0] = m;
  __syncthreads();
  const W mean = warps[0].mean;
  const W variance = warps[0].squares / static_cast<W>(job.columns);
  const W rstd = keep(job, row, mean, variance);
#pragma unroll 4
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    W v[V];
    load_wide<V>(x + p * V, v);
    put<T, V>(job, row, p * V, mean, rstd, v);
  }
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
  case 4:
    return held<T, kV, 4>;
  default:
    return held < T, kV, kV < 8 ? 8 : 4 > ;
  }
}

template <class T>
LayerNormKernels kernels_of() {
  constexpr int kV = kPack<T>;
  return {held_kernel<T>, walked<T, kV>, walked<T, 1>, kV, kV < 8 ? 8 : 4, 8};
}

} // namespace

LayerNormKernels layer_norm_kernels(Dtype dtype) {
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
