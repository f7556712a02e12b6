// SPDX-License-Identifier: Apache-2.0
// Products of integers, and what is added to cuBLASLt's results.
#include "toolkit/engine/cuda/gemm_kernels.h"

#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/pack.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

using kernels::Bfloat16;
using kernels::Half;
using kernels::Wide;

// --- integers ---------------------------------------------------------------

constexpr int kTile = 64;  // rows and columns of a block's part of d
constexpr int kDepth = 16; // of the sums' length at a time
constexpr int kSide = 16;  // threads each way, of kEach x kEach results
constexpr int kEach = kTile / kSide;
constexpr int kThreads = kSide * kSide;
constexpr int64_t kMostBlocks = 1 << 20;

// rows x kDepth of op(matrix) from (row, k) on, zero beyond its ends; `matrix`
// has `columns` columns, and its rows are along k if it is flipped.
__device__ void load_tile(
    uint64_t (&tile)[kDepth][kTile + 1],
    const uint64_t* matrix,
    int64_t rows,
    int64_t depth,
    int64_t row,
    int64_t k,
    bool flipped) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth;
       i += kThreads) {
    // Neighbours read neighbours.
    const int r = flipped ? i % kTile : i / kDepth;
    const int d = flipped ? i / kTile : i % kDepth;
    const bool inside = row + r < rows && k + d < depth;
    const int64_t at =
        flipped ? (k + d) * rows + row + r : (row + r) * depth + k + d;
    tile[d][r] = inside ? matrix[at] : 0;
  }
}

__device__ void store_tile(
    const IntegerGemm& g,
    int64_t batch,
    int64_t row,
    int64_t column,
    const uint64_t (&sum)[kEach][kEach]) {
  for (int i = 0; i < kEach; ++i) {
    for (int j = 0; j < kEach; ++j) {
      const int64_t r = row + i * kSide;
      const int64_t c = column + j * kSide;
      if (r >= g.m || c >= g.n)
        continue;
      const int64_t at = (batch * g.m + r) * g.n + c;
      uint64_t value = g.alpha * sum[i][j];
      if (g.c != nullptr)
        value += g.beta * g.c[at];
      if (g.bias != nullptr)
        value += g.gamma * g.bias[c];
      g.d[at] = value;
    }
  }
}

__global__ void __launch_bounds__(kThreads) multiply_integers(IntegerGemm g) {
  __shared__ uint64_t a[kDepth][kTile + 1];
  __shared__ uint64_t b[kDepth][kTile + 1];
  const int64_t across = (g.n + kTile - 1) / kTile;
  const int64_t down = (g.m + kTile - 1) / kTile;
  const int x = static_cast<int>(threadIdx.x) % kSide;
  const int y = static_cast<int>(threadIdx.x) / kSide;
  for (int64_t tile = blockIdx.x; tile < g.batch * across * down;
       tile += gridDim.x) {
    const int64_t batch = tile / (across * down);
    const int64_t row = tile / across % down * kTile;
    const int64_t column = tile % across * kTile;
    uint64_t sum[kEach][kEach] = {};
    for (int64_t k = 0; k < g.k; k += kDepth) {
      load_tile(a, g.a + batch * g.a_step, g.m, g.k, row, k, g.transpose_a);
      load_tile(b, g.b + batch * g.b_step, g.n, g.k, column, k, !g.transpose_b);
      __syncthreads();
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          const uint64_t left = a[d][y + i * kSide];
#pragma unroll
          for (int j = 0; j < kEach; ++j)
            sum[i][j] += left * b[d][x + j * kSide];
        }
      }
      __syncthreads();
    }
    store_tile(g, batch, row + y, column + x, sum);
  }
}

// --- addends ----------------------------------------------------------------

constexpr int64_t kMostRows = 65535; // of a grid

template <class T>
__global__ void add_addends(GemmAddends g) {
  using W = Wide<T>;
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= g.n)
    return;
  const W beta = static_cast<W>(g.beta);
  const W bias = g.bias == nullptr ? W(0)
                                   : static_cast<W>(g.gamma) *
          wide_of(static_cast<const T*>(g.bias)[column]);
  const T* c = static_cast<const T*>(g.c);
  T* d = static_cast<T*>(g.d);
  const int64_t step = int64_t{gridDim.y} * blockDim.y;
  for (int64_t row = int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
       row < g.rows;
       row += step) {
    const int64_t at = row * g.n + column;
    const W before = c == nullptr ? W(0) : beta * wide_of(c[at]);
    d[at] = narrow_of<T>(before + bias);
  }
}

template <class T>
void launch_addends(engine::Stream& stream, const GemmAddends& g) {
  unsigned x = kWarp / 8;
  while (x < kThreads && x < g.n)
    x *= 2;
  const unsigned y = kThreads / x;
  const auto blocks = [](int64_t extent, unsigned each) {
    return (extent + each - 1) / each;
  };
  const dim3 grid(
      static_cast<unsigned>(blocks(g.n, x)),
      static_cast<unsigned>(std::min(blocks(g.rows, y), kMostRows)));
  launch(stream, add_addends<T>, grid, dim3(x, y), 0, g);
}

} // namespace

void integer_gemm(engine::Stream& stream, const IntegerGemm& g) {
  const int64_t tiles =
      g.batch * ((g.m + kTile - 1) / kTile) * ((g.n + kTile - 1) / kTile);
  launch(
      stream,
      multiply_integers,
      static_cast<unsigned>(std::min(tiles, kMostBlocks)),
      kThreads,
      0,
      g);
}

void add_to_gemm(engine::Stream& stream, const GemmAddends& g) {
  switch (g.dtype) {
  case Dtype::kHalf:
    return launch_addends<Half>(stream, g);
  case Dtype::kBfloat16:
    return launch_addends<Bfloat16>(stream, g);
  case Dtype::kDouble:
    return launch_addends<double>(stream, g);
  default:
    return launch_addends<float>(stream, g);
  }
}

} // namespace musa_standin::engine::cuda
