// SPDX-License-Identifier: Apache-2.0
// Products of a few elements: a launch of our own costs the host less than a
// call of cuBLASLt, and nothing else counts at these sizes.
#include "toolkit/engine/cuda/gemm_kernels.h"

#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/pack.h"

namespace musa_standin::engine::cuda {
namespace {

constexpr int kSmallThreads = 128;

// A thread makes one element.
template <class T>
__global__ void __launch_bounds__(kSmallThreads)
    small_products(const __grid_constant__ SmallGemm g) {
  const int at = static_cast<int>(blockIdx.x * kSmallThreads + threadIdx.x);
  if (at >= g.m * g.n)
    return;
  const int row = at / g.n;
  const int column = at - row * g.n;
  const T* a = static_cast<const T*>(g.a) + row * g.a_row;
  const T* b = static_cast<const T*>(g.b) + column * g.b_column;
  float sum = 0;
#pragma unroll 8
  for (int k = 0; k < g.k; ++k)
    sum = fmaf(wide_of(a[k * g.a_column]), wide_of(b[k * g.b_row]), sum);
  float result = g.alpha * sum;
  if (g.c != nullptr)
    result += g.beta * wide_of(static_cast<const T*>(g.c)[at]);
  if (g.bias != nullptr)
    result += g.gamma * wide_of(static_cast<const T*>(g.bias)[column]);
  static_cast<T*>(g.d)[at] = narrow_of<T>(result);
}

} // namespace

void small_gemm(engine::Stream& stream, const SmallGemm& g) {
  auto* kernel = small_products<float>;
  if (g.dtype == Dtype::kHalf)
    kernel = small_products<kernels::Half>;
  if (g.dtype == Dtype::kBfloat16)
    kernel = small_products<kernels::Bfloat16>;
  launch(
      stream,
      kernel,
      static_cast<unsigned>((g.m * g.n + kSmallThreads - 1) / kSmallThreads),
      kSmallThreads,
      0,
      g);
}

} // namespace musa_standin::engine::cuda
