// SPDX-License-Identifier: Apache-2.0
// Gradients of softmax and of its logarithm.
#include "toolkit/engine/cuda/join.cuh"
#include "toolkit/engine/cuda/row_grid.h"
#include "toolkit/engine/cuda/softmax_kernels.h"
#include "toolkit/engine/cuda/walk.cuh"

namespace musa_standin::engine::cuda {
namespace {

// What an element adds to the row's sum, and its gradient from that sum.
template <class W>
__device__ inline W term(W out, W grad, bool logarithm) {
  return logarithm ? grad : grad * out;
}
template <class W>
__device__ inline W gradient(W out, W grad, W sum, bool logarithm) {
  return logarithm ? grad - ::exp(out) * sum : (grad - sum) * out;
}

template <class T, int V, int Each>
__global__ void __launch_bounds__(kRowThreads) held(SoftmaxJob job) {
  using W = kernels::Wide<T>;
  __shared__ W warps[kMaxWarps];
  const bool logarithm = job.mode == SoftmaxMode::kLogSoftmax;
  const int width = static_cast<int>(blockDim.x);
  const int64_t row =
      static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const bool active = row < job.outer;
  const int packs = static_cast<int>(job.extent / V);
  const int64_t first = row * job.extent;
  const T* out = static_cast<const T*>(job.out) + first;
  const T* grad = static_cast<const T*>(job.in) + first;
  W o[Each][V];
  W g[Each][V];
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    const int p = threadIdx.x + k * width;
    if (active && p < packs) {
      load_wide<V>(out + p * V, o[k]);
      load_wide<V>(grad + p * V, g[k]);
    } else {
#pragma unroll
      for (int i = 0; i < V; ++i)
        o[k][i] = g[k][i] = 0;
    }
  }
  W sum = 0;
#pragma unroll
  for (int k = 0; k < Each; ++k) {
#pragma unroll
    for (int i = 0; i < V; ++i)
      sum += term(o[k][i], g[k][i], logarithm);
  }
  sum = row_sum(sum, width, warps);
  T* to = static_cast<T*>(job.grad_in) + first;
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    const int p = threadIdx.x + k * width;
    if (active && p < packs) {
#pragma unroll
      for (int i = 0; i < V; ++i)
        o[k][i] = gradient(o[k][i], g[k][i], sum, logarithm);
      store_wide<V>(to + p * V, o[k]);
    }
  }
}

template <class T, int V>
__global__ void __launch_bounds__(kRowThreads) walked(SoftmaxJob job) {
  using W = kernels::Wide<T>;
  __shared__ W warps[kMaxWarps];
  const bool logarithm = job.mode == SoftmaxMode::kLogSoftmax;
  const int64_t n = job.extent;
  const T* out = static_cast<const T*>(job.out) + blockIdx.x * n;
  const T* grad = static_cast<const T*>(job.in) + blockIdx.x * n;
  T* to = static_cast<T*>(job.grad_in) + blockIdx.x * n;
  W sum = 0;
  const auto add = [&](auto width, int64_t at) {
    constexpr int kV = decltype(width)::kCount;
    W o[kV];
    W g[kV];
    load_wide<kV>(out + at, o);
    load_wide<kV>(grad + at, g);
#pragma unroll
    for (int i = 0; i < kV; ++i)
      sum += term(o[i], g[i], logarithm);
  };
  const auto put = [&](auto width, int64_t at) {
    constexpr int kV = decltype(width)::kCount;
    W o[kV];
    W g[kV];
    load_wide<kV>(out + at, o);
    load_wide<kV>(grad + at, g);
#pragma unroll
    for (int i = 0; i < kV; ++i)
      o[i] = gradient(o[i], g[i], sum, logarithm);
    store_wide<kV>(to + at, o);
  };
  walk<T, V>(
      out,
      n,
      [&](int64_t i) { add(Width<1>{}, i); },
      [&](int64_t i) { add(Width<V>{}, i); });
  sum = row_sum(sum, static_cast<int>(blockDim.x), warps);
  walk<T, V>(
      out,
      n,
      [&](int64_t i) { put(Width<1>{}, i); },
      [&](int64_t i) { put(Width<V>{}, i); });
}

template <class T>
__global__ void __launch_bounds__(kWarp* kLineThreads) lines(SoftmaxJob job) {
  using W = kernels::Wide<T>;
  __shared__ W parts[kLineThreads][kWarp];
  const bool logarithm = job.mode == SoftmaxMode::kLogSoftmax;
  const int64_t line = static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  const bool active = line < job.outer * job.inner;
  const int64_t outer = line / job.inner;
  const int64_t first = outer * job.extent * job.inner + line % job.inner;
  const T* out = static_cast<const T*>(job.out) + first;
  const T* grad = static_cast<const T*>(job.in) + first;
  W sum = 0;
  if (active) {
#pragma unroll 4
    for (int64_t k = threadIdx.y; k < job.extent; k += kLineThreads) {
      const int64_t at = k * job.inner;
      sum += term(wide_of(out[at]), wide_of(grad[at]), logarithm);
    }
  }
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (!active)
    return;
  sum = parts[0][threadIdx.x];
#pragma unroll
  for (int y = 1; y < kLineThreads; ++y)
    sum += parts[y][threadIdx.x];
  T* to = static_cast<T*>(job.grad_in) + first;
#pragma unroll 4
  for (int64_t k = threadIdx.y; k < job.extent; k += kLineThreads) {
    const int64_t at = k * job.inner;
    to[at] = narrow_of<T>(
        gradient(wide_of(out[at]), wide_of(grad[at]), sum, logarithm));
  }
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
  default:
    return held < T, kV, kV < 8 ? 4 : 2 > ;
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
      kV < 8 ? 4 : 2,
      4};
}

} // namespace

SoftmaxKernels softmax_backward_kernels(Dtype dtype) {
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
