// SPDX-License-Identifier: Apache-2.0
// Copies by strides, transposes, fills and concatenation.
#include "toolkit/engine/cuda/copy_kernels.h"

#include <cuda_runtime.h>

namespace musa_standin::engine::cuda {

namespace {

// Positions of a thread: a block's width apart, for neighbouring threads to
// move neighbours. What lies behind the end repeats the last one.
struct Positions {
  uint32_t at[kMoves];
  int count;
};
__device__ Positions positions(uint32_t numel) {
  Positions p;
  p.count = 0;
  const uint32_t first = blockIdx.x * (kMoveThreads * kMoves) + threadIdx.x;
  for (int k = 0; k < kMoves; ++k) {
    const uint32_t at = first + k * kMoveThreads;
    p.count += at < numel ? 1 : 0;
    p.at[k] = at < numel ? at : numel - 1;
  }
  return p;
}

template <class Unit>
__device__ Unit repeated(uint64_t pattern) {
  if constexpr (sizeof(Unit) == 16) {
    const auto low = static_cast<uint32_t>(pattern);
    const auto high = static_cast<uint32_t>(pattern >> 32);
    return make_uint4(low, high, low, high);
  } else {
    return static_cast<Unit>(pattern);
  }
}

template <class Unit>
__global__ void __launch_bounds__(kMoveThreads)
    copy_units(const __grid_constant__ MoveArgs args) {
  Positions p = positions(args.numel);
  uint32_t at[2][kMoves];
  args.offsets.of(p.at, at);
  Unit units[kMoves];
  for (int k = 0; k < kMoves; ++k)
    units[k] = *reinterpret_cast<const Unit*>(args.in + at[1][k]);
  for (int k = 0; k < kMoves; ++k) {
    if (k < p.count)
      *reinterpret_cast<Unit*>(args.out + at[0][k]) = units[k];
  }
}

template <class Unit>
__global__ void __launch_bounds__(kMoveThreads)
    line_units(const __grid_constant__ LineArgs args) {
  const Positions p = positions(args.units);
  Unit units[kMoves];
  for (int k = 0; k < kMoves; ++k)
    units[k] = reinterpret_cast<const Unit*>(args.in)[p.at[k]];
  for (int k = 0; k < kMoves; ++k) {
    if (k < p.count)
      reinterpret_cast<Unit*>(args.out)[p.at[k]] = units[k];
  }
}

template <class Unit, bool Masked>
__global__ void __launch_bounds__(kMoveThreads)
    fill_units(const __grid_constant__ MoveArgs args) {
  Positions p = positions(args.numel);
  uint32_t at[2][kMoves];
  args.offsets.of(p.at, at);
  bool writes[kMoves];
  for (int k = 0; k < kMoves; ++k) {
    writes[k] = k < p.count;
    if constexpr (Masked)
      writes[k] &= args.in[at[1][k]] != 0;
  }
  for (int k = 0; k < kMoves; ++k) {
    if (writes[k])
      *reinterpret_cast<Unit*>(args.out + at[0][k]) =
          repeated<Unit>(args.pattern);
  }
}

__global__ void __launch_bounds__(kMoveThreads)
    fill_dense(const __grid_constant__ DenseFillArgs args) {
  auto* vectors = reinterpret_cast<uint4*>(args.out + args.head);
  const int64_t first =
      int64_t{blockIdx.x} * (kMoveThreads * kMoves) + threadIdx.x;
  const uint4 value = repeated<uint4>(args.pattern);
  for (int k = 0; k < kMoves; ++k) {
    const int64_t at = first + k * kMoveThreads;
    if (at < args.vectors)
      vectors[at] = value;
  }
  if (blockIdx.x != 0)
    return;
  // Before the first vector and behind the last, byte by byte.
  const auto byte = static_cast<char>(args.pattern >> (threadIdx.x % 8 * 8));
  if (threadIdx.x < args.head)
    args.out[threadIdx.x] = byte;
  if (threadIdx.x < args.tail)
    reinterpret_cast<char*>(vectors + args.vectors)[threadIdx.x] = byte;
}

template <class Unit>
__global__ void __launch_bounds__(kTransposeThreads)
    transpose(const __grid_constant__ TransposeArgs args) {
  constexpr int kTile = transpose_tile(sizeof(Unit));
  // Rows of an odd number of words: a column then meets every bank once.
  constexpr int kPad = sizeof(Unit) < 4 ? 4 / sizeof(Unit) : 1;
  constexpr int kLines = kTransposeThreads / 32;
  __shared__ Unit tile[kTile][kTile + kPad];

  const uint32_t above = args.column_tiles.quotient(blockIdx.x);
  uint32_t batch[1] = {args.row_tiles.quotient(above)};
  const uint32_t column0 =
      (blockIdx.x - above * args.column_tiles.divisor) * kTile;
  const uint32_t row0 = (above - batch[0] * args.row_tiles.divisor) * kTile;
  uint32_t at[2][1];
  args.batch.of(batch, at);
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t line = threadIdx.x / 32;

  const char* in = args.in + at[1][0];
#pragma unroll
  for (int j = 0; j < kTile; j += kLines) {
#pragma unroll
    for (int i = 0; i < kTile; i += 32) {
      const uint32_t column = column0 + j + line;
      const uint32_t row = row0 + i + lane;
      if (column < args.columns && row < args.rows)
        tile[j + line][i + lane] = *reinterpret_cast<const Unit*>(
            in + column * args.in_column_bytes + row * uint32_t{sizeof(Unit)});
    }
  }
  __syncthreads();
  char* out = args.out + at[0][0];
#pragma unroll
  for (int i = 0; i < kTile; i += kLines) {
#pragma unroll
    for (int j = 0; j < kTile; j += 32) {
      const uint32_t row = row0 + i + line;
      const uint32_t column = column0 + j + lane;
      if (column < args.columns && row < args.rows)
        *reinterpret_cast<Unit*>(
            out + row * args.out_row_bytes + column * uint32_t{sizeof(Unit)}) =
            tile[j + lane][i + line];
    }
  }
}

template <class Unit, size_t Inputs>
__global__ void __launch_bounds__(kMoveThreads)
    concat_units(const __grid_constant__ ConcatArgs<Inputs> args) {
  const typename ConcatArgs<Inputs>::Input& input = args.inputs[blockIdx.y];
  if (blockIdx.x * (kMoveThreads * kMoves) >= input.numel)
    return;
  const Positions p = positions(input.numel);
  const auto* in = reinterpret_cast<const Unit*>(input.address);
  auto* out = reinterpret_cast<Unit*>(args.out) + input.begin;
  Unit units[kMoves];
  for (int k = 0; k < kMoves; ++k)
    units[k] = in[p.at[k]];
  for (int k = 0; k < kMoves; ++k) {
    const uint32_t row = input.width.quotient(p.at[k]);
    const uint32_t column = p.at[k] - row * input.width.divisor;
    if (k < p.count)
      out[row * args.out_width + column] = units[k];
  }
}

template <class Unit>
void add(MoveTable& table, int size) {
  table.copy[size] = copy_units<Unit>;
  table.fill[size] = fill_units<Unit, false>;
  table.line[size] = line_units<Unit>;
  table.concat[size] = concat_units<Unit, Concat::kInputs>;
  table.few_concat[size] = concat_units<Unit, FewConcat::kInputs>;
  if constexpr (sizeof(Unit) <= 8) {
    table.masked_fill[size] = fill_units<Unit, true>;
    table.transpose[size] = transpose<Unit>;
  }
}

MoveTable make_table() {
  MoveTable table{};
  add<uint8_t>(table, 0);
  add<uint16_t>(table, 1);
  add<uint32_t>(table, 2);
  add<uint64_t>(table, 3);
  add<uint4>(table, 4);
  table.dense_fill = fill_dense;
  return table;
}

} // namespace

const MoveTable& move_table() {
  static const MoveTable table = make_table();
  return table;
}

} // namespace musa_standin::engine::cuda
