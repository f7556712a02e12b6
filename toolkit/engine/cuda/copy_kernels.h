// SPDX-License-Identifier: Apache-2.0
// Kernels that move or write elements as they are, by units of 1 to 16 bytes.
#pragma once

#include "toolkit/engine/cuda/offsets.h"

#include <cstddef>
#include <cstdint>

namespace musa_standin::engine {
class Stream;
}

namespace musa_standin::engine::cuda {

constexpr int kMoveThreads = 128;
// Units of a thread.
constexpr int kMoves = 4;
constexpr int kUnitSizes = 5;

// Offsets in bytes: the output's, and the input's or the mask's.
struct MoveArgs {
  char* out;
  const char* in;
  uint64_t pattern; // of a fill: its element, repeated
  uint32_t numel;
  Offsets<2> offsets;
};
using MoveKernel = void (*)(MoveArgs);

// Columns are neighbours in the output, rows in the input.
struct TransposeArgs {
  char* out;
  const char* in;
  uint32_t rows;
  uint32_t columns;
  uint32_t out_row_bytes;
  uint32_t in_column_bytes;
  Divider row_tiles;
  Divider column_tiles;
  Offsets<2> batch;
};
using TransposeKernel = void (*)(TransposeArgs);
constexpr int kTransposeThreads = 256;
constexpr int transpose_tile(int unit) {
  return unit == 8 ? 32 : 64;
}

// From one piece to another, in units.
struct LineArgs {
  char* out;
  const char* in;
  uint32_t units;
};

struct DenseFillArgs {
  char* out;
  int64_t head; // bytes before the first vector
  int64_t vectors;
  int64_t tail;
  uint64_t pattern;
};

// Pieces of one width of each input into wider rows; all in units.
template <size_t Inputs>
struct ConcatArgs {
  static constexpr size_t kInputs = Inputs;
  struct Input {
    const char* address;
    Divider width;
    uint32_t begin;
    uint32_t numel;
  };
  char* out;
  uint32_t out_width;
  Input inputs[Inputs];
};
using Concat = ConcatArgs<16>;
// Most have two or three inputs: what a launch takes along costs time.
using FewConcat = ConcatArgs<4>;

// By the logarithm of the unit.
struct MoveTable {
  MoveKernel copy[kUnitSizes];
  MoveKernel fill[kUnitSizes];
  MoveKernel masked_fill[kUnitSizes - 1];
  TransposeKernel transpose[kUnitSizes - 1];
  void (*line[kUnitSizes])(LineArgs);
  void (*concat[kUnitSizes])(Concat);
  void (*few_concat[kUnitSizes])(FewConcat);
  void (*dense_fill)(DenseFillArgs);
};
const MoveTable& move_table();

// Copies within the stream's device by a kernel, which is enqueued sooner than
// what cudaMemcpyAsync does. False, and nothing done, if it is too long for
// that or the two overlap.
bool copy_line(engine::Stream& stream, void* to, const void* from, size_t n);

// Enlarges the unit while every operand's innermost units are neighbours and
// everything stays aligned. Strides in bytes; the nest is collapsed and stays
// so. Returns the unit's logarithm.
template <size_t Operands>
int widen(
    Nest<Operands>& nest,
    char* const (&address)[Operands],
    int64_t unit) {
  int size = __builtin_ctzll(static_cast<uint64_t>(unit));
  const int inner = nest.rank - 1;
  for (size_t i = 0; i < Operands; ++i) {
    if (nest.strides[i][inner] != unit)
      return size;
  }
  // What has to be a multiple of the unit.
  uint64_t all = 16 | static_cast<uint64_t>(nest.dims[inner] * unit);
  for (size_t i = 0; i < Operands; ++i) {
    all |= reinterpret_cast<uintptr_t>(address[i]);
    for (int d = 0; d < inner; ++d)
      all |= static_cast<uint64_t>(nest.strides[i][d]);
  }
  const int wide = __builtin_ctzll(all);
  nest.dims[inner] >>= wide - size;
  for (size_t i = 0; i < Operands; ++i)
    nest.strides[i][inner] = int64_t{1} << wide;
  collapse(nest);
  return wide;
}

} // namespace musa_standin::engine::cuda
