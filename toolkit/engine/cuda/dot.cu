// SPDX-License-Identifier: Apache-2.0
// Dot product on the CUDA engine: sums of blocks, then their sum.
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/pack.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

using kernels::Bfloat16;
using kernels::Half;
using kernels::Wide;

constexpr int kThreads = 256;
constexpr int kBlocks = 512; // at most: what one block sums up at the end
constexpr int64_t kAlone = 1 << 15; // elements that one block multiplies

// Integers wrap; floating sums of a thread are added up in double.
template <class T>
struct Sums {
  using Thread = Wide<T>;
  using Total = double;
};
template <>
struct Sums<uint64_t> {
  using Thread = uint64_t;
  using Total = uint64_t;
};

template <class T>
__device__ typename Sums<T>::Thread widened(T v) {
  if constexpr (std::is_same_v<T, uint64_t>)
    return v;
  else
    return wide_of(v);
}

template <class T>
__device__ T rounded(typename Sums<T>::Total v) {
  if constexpr (std::is_same_v<T, uint64_t>)
    return v;
  else
    return narrow_of<T>(static_cast<Wide<T>>(v));
}

// The block's sum, in its first thread.
template <class Total>
__device__ Total block_sum(Total v) {
  __shared__ Total sums[kThreads / kWarp];
  for (int step = kWarp / 2; step > 0; step /= 2)
    v += __shfl_down_sync(0xFFFFFFFFU, v, step);
  if (threadIdx.x % kWarp == 0)
    sums[threadIdx.x / kWarp] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < kThreads / kWarp; ++i)
      v += sums[i];
  }
  return v;
}

// A block's part of the products; to `out` if it is the only block.
template <class T, int V>
__global__ void __launch_bounds__(kThreads) multiply(
    T* out,
    typename Sums<T>::Total* partial,
    const T* left,
    const T* right,
    int64_t n) {
  using Thread = typename Sums<T>::Thread;
  using Total = typename Sums<T>::Total;
  const int64_t packs = n / V;
  const int64_t step = int64_t{kThreads} * gridDim.x;
  const int64_t first = int64_t{kThreads} * blockIdx.x + threadIdx.x;
  Thread sum[V] = {};
#pragma unroll 4
  for (int64_t at = first; at < packs; at += step) {
    const Pack<T, V> l = load_pack<V>(left + at * V);
    const Pack<T, V> r = load_pack<V>(right + at * V);
#pragma unroll
    for (int i = 0; i < V; ++i)
      sum[i] += widened(l.e[i]) * widened(r.e[i]);
  }
  for (int64_t at = packs * V + first; at < n; at += step)
    sum[0] += widened(left[at]) * widened(right[at]);
  Total total = 0;
#pragma unroll
  for (int i = 0; i < V; ++i)
    total += static_cast<Total>(sum[i]);
  total = block_sum(total);
  if (threadIdx.x != 0)
    return;
  if (gridDim.x == 1)
    *out = rounded<T>(total);
  else
    partial[blockIdx.x] = total;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    add_up(T* out, const typename Sums<T>::Total* partial, int count) {
  typename Sums<T>::Total total = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads)
    total += partial[i];
  total = block_sum(total);
  if (threadIdx.x == 0)
    *out = rounded<T>(total);
}

int blocks_for(int64_t n) {
  return static_cast<int>(
      std::clamp<int64_t>((n + kAlone - 1) / kAlone, 1, kBlocks));
}

template <class T>
void run(
    engine::Stream& stream,
    const View& out,
    const View& left,
    const View& right,
    Workspace workspace) {
  using Total = typename Sums<T>::Total;
  auto* to = static_cast<T*>(out.address);
  const auto* l = static_cast<const T*>(left.address);
  const auto* r = static_cast<const T*>(right.address);
  auto* partial = static_cast<Total*>(workspace.address);
  const int blocks = blocks_for(left.numel);
  const unsigned grid = static_cast<unsigned>(blocks);
  if (packable(l) && packable(r))
    launch(
        stream,
        multiply<T, kPack<T>>,
        grid,
        kThreads,
        0,
        to,
        partial,
        l,
        r,
        left.numel);
  else
    launch(
        stream,
        multiply<T, 1>,
        grid,
        kThreads,
        0,
        to,
        partial,
        l,
        r,
        left.numel);
  if (blocks > 1)
    launch(stream, add_up<T>, 1, kThreads, 0, to, partial, blocks);
}

} // namespace

size_t CudaDnn::dot_workspace_bytes(const View& left) {
  const int blocks = blocks_for(left.numel);
  return blocks > 1 ? static_cast<size_t>(blocks) * sizeof(double) : 0;
}

void CudaDnn::dot(
    Stream& stream,
    const View& out,
    const View& left,
    const View& right,
    Workspace workspace) {
  switch (left.dtype) {
  case Dtype::kFloat:
    return run<float>(stream, out, left, right, workspace);
  case Dtype::kHalf:
    return run<Half>(stream, out, left, right, workspace);
  case Dtype::kBfloat16:
    return run<Bfloat16>(stream, out, left, right, workspace);
  case Dtype::kDouble:
    return run<double>(stream, out, left, right, workspace);
  case Dtype::kInt64:
    return run<uint64_t>(stream, out, left, right, workspace);
  default:
    throw Error(
        musaErrorNotSupported,
        "Dot: of integers the engine multiplies INT64 alone");
  }
}

} // namespace musa_standin::engine::cuda
