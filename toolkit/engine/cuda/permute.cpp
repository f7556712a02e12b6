// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's copies by strides, and concatenation.
#include "toolkit/engine/cuda/copy_kernels.h"
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/launch.h"

#include <algorithm>

namespace musa_standin::engine::cuda {

namespace {

using Pair = char* const (&)[2];

constexpr int64_t kPositions = int64_t{1} << 31;

void copy_bytes(engine::Stream& stream, void* to, const void* from, int64_t n) {
  if (to == from || copy_line(stream, to, from, static_cast<size_t>(n)))
    return;
  check(cudaMemcpyAsync(
      to,
      from,
      static_cast<size_t>(n),
      cudaMemcpyDeviceToDevice,
      native(stream)));
}

// The dimension along which the input's elements are neighbours, if a tile
// pays; else -1.
int crossed_dim(const Nest<2>& nest, int64_t unit) {
  // Fewer elements of a line than this leave most of a tile empty.
  constexpr int64_t kLeast = 8;
  const int inner = nest.rank - 1;
  if (unit > 8 || nest.strides[0][inner] != unit || nest.dims[inner] < kLeast)
    return -1;
  for (int d = 0; d < inner; ++d) {
    if (nest.strides[1][d] == unit && nest.dims[d] >= kLeast)
      return d;
  }
  return -1;
}

void launch_transpose(
    engine::Stream& stream,
    const Nest<2>& nest,
    Pair address,
    int size,
    int row_dim) {
  const int inner = nest.rank - 1;
  const int64_t tile = transpose_tile(1 << size);
  const int64_t row_tiles = (nest.dims[row_dim] + tile - 1) / tile;
  const int64_t column_tiles = (nest.dims[inner] + tile - 1) / tile;
  TransposeArgs args; // NOLINT(cppcoreguidelines-pro-type-member-init)
  args.out = address[0];
  args.in = address[1];
  args.rows = static_cast<uint32_t>(nest.dims[row_dim]);
  args.columns = static_cast<uint32_t>(nest.dims[inner]);
  args.out_row_bytes = static_cast<uint32_t>(nest.strides[0][row_dim]);
  args.in_column_bytes = static_cast<uint32_t>(nest.strides[1][inner]);
  args.row_tiles = make_divider(row_tiles);
  args.column_tiles = make_divider(column_tiles);
  Nest<2> batch = nest;
  batch.dims[row_dim] = batch.dims[inner] = 1;
  const int64_t blocks = batch.numel() * row_tiles * column_tiles;
  collapse(batch);
  args.batch = make_offsets(batch);
  launch(
      stream,
      move_table().transpose[size],
      static_cast<unsigned>(blocks),
      kTransposeThreads,
      0,
      args);
}

void copy_piece(
    engine::Stream& stream,
    Nest<2> nest,
    Pair address,
    int64_t bytes) {
  const int size = widen(nest, address, bytes);
  const int row_dim = crossed_dim(nest, int64_t{1} << size);
  if (row_dim >= 0)
    return launch_transpose(stream, nest, address, size, row_dim);
  MoveArgs args; // NOLINT(cppcoreguidelines-pro-type-member-init)
  args.out = address[0];
  args.in = address[1];
  args.numel = static_cast<uint32_t>(nest.numel());
  args.offsets = make_offsets(nest);
  constexpr unsigned kBlock = kMoveThreads * kMoves;
  launch(
      stream,
      move_table().copy[size],
      (args.numel + kBlock - 1) / kBlock,
      kMoveThreads,
      0,
      args);
}

void copy_nest(
    engine::Stream& stream,
    Nest<2>& nest,
    Pair address,
    int64_t bytes) {
  collapse(nest);
  const bool line = nest.rank == 1 && nest.strides[0][0] == bytes &&
      nest.strides[1][0] == bytes;
  if (line)
    return copy_bytes(stream, address[0], address[1], nest.dims[0] * bytes);
  for_pieces(nest, address, [&](const Nest<2>& piece, Pair from) {
    copy_piece(stream, piece, from, bytes);
  });
}

// What the inputs of a concatenation have in common, in bytes.
struct Joint {
  int64_t outer = 1;
  int64_t inner;
  int64_t out_width;
};

void concat_one(
    engine::Stream& stream,
    const Joint& joint,
    char* to,
    const View& input,
    int64_t width) {
  Nest<2> nest; // NOLINT(cppcoreguidelines-pro-type-member-init)
  nest.rank = 2;
  nest.dims[0] = joint.outer;
  nest.dims[1] = width;
  nest.strides[0][0] = joint.out_width;
  nest.strides[1][0] = width;
  nest.strides[0][1] = nest.strides[1][1] = 1;
  char* const address[] = {to, static_cast<char*>(input.address)};
  copy_nest(stream, nest, address, 1);
}

// So many inputs at most; widths and numbers of elements fit 31 bits.
template <size_t Inputs>
void launch_concat(
    engine::Stream& stream,
    void (*const (&kernels)[kUnitSizes])(ConcatArgs<Inputs>),
    const Joint& joint,
    char* to,
    int axis,
    int count,
    const View* inputs,
    int size) {
  ConcatArgs<Inputs> args; // NOLINT(cppcoreguidelines-pro-type-member-init)
  args.out = to;
  args.out_width = static_cast<uint32_t>(joint.out_width >> size);
  uint32_t begin = 0;
  uint32_t largest = 0;
  for (int i = 0; i < count; ++i) {
    const int64_t width = inputs[i].dims[axis] * joint.inner >> size;
    auto& input = args.inputs[i];
    input.address = static_cast<const char*>(inputs[i].address);
    input.width = make_divider(width);
    input.begin = begin;
    input.numel = static_cast<uint32_t>(joint.outer * width);
    begin += static_cast<uint32_t>(width);
    largest = std::max(largest, input.numel);
  }
  constexpr unsigned kBlock = kMoveThreads * kMoves;
  launch(
      stream,
      kernels[size],
      dim3((largest + kBlock - 1) / kBlock, static_cast<unsigned>(count)),
      kMoveThreads,
      0,
      args);
}

// Up to Concat::kInputs inputs; false if they are too large for it.
bool concat_few(
    engine::Stream& stream,
    const Joint& joint,
    char* to,
    int axis,
    int count,
    const View* inputs) {
  uint64_t all = 16 | static_cast<uint64_t>(joint.out_width) |
      reinterpret_cast<uintptr_t>(to);
  for (int i = 0; i < count; ++i) {
    all |= static_cast<uint64_t>(inputs[i].dims[axis] * joint.inner);
    all |= reinterpret_cast<uintptr_t>(inputs[i].address);
  }
  const int size = __builtin_ctzll(all);
  if (joint.outer * joint.out_width >> size >= kPositions)
    return false;
  const MoveTable& table = move_table();
  if (count <= int{FewConcat::kInputs}) {
    launch_concat(
        stream,
        table.few_concat,
        joint,
        to,
        axis,
        count,
        inputs,
        size);
  } else {
    launch_concat(stream, table.concat, joint, to, axis, count, inputs, size);
  }
  return true;
}

} // namespace

bool copy_line(engine::Stream& stream, void* to, const void* from, size_t n) {
  // Where the launch is what takes the time.
  constexpr size_t kMost = size_t{256} << 10;
  const auto out = reinterpret_cast<uintptr_t>(to);
  const auto in = reinterpret_cast<uintptr_t>(from);
  if (n > kMost || (out < in ? in - out : out - in) < n)
    return false;
  const int size = __builtin_ctzll(16 | n | out | in);
  LineArgs args; // NOLINT(cppcoreguidelines-pro-type-member-init)
  args.out = static_cast<char*>(to);
  args.in = static_cast<const char*>(from);
  args.units = static_cast<uint32_t>(n >> size);
  constexpr unsigned kBlock = kMoveThreads * kMoves;
  launch(
      stream,
      move_table().line[size],
      (args.units + kBlock - 1) / kBlock,
      kMoveThreads,
      0,
      args);
  return true;
}

void CudaDnn::copy(Stream& stream, const View& out, const View& in) {
  const int64_t bytes = element_bytes(out.dtype);
  if (out.dense && in.dense)
    return copy_bytes(stream, out.address, in.address, out.numel * bytes);
  const View* const views[] = {&out, &in};
  Nest<2> nest = make_nest(views);
  char* const address[] = {
      static_cast<char*>(out.address),
      static_cast<char*>(in.address)};
  copy_nest(stream, nest, address, bytes);
}

void CudaDnn::concat(
    Stream& stream,
    const View& out,
    int axis,
    int count,
    const View* inputs) {
  Joint joint; // NOLINT(cppcoreguidelines-pro-type-member-init)
  joint.inner = element_bytes(out.dtype);
  for (int d = 0; d < axis; ++d)
    joint.outer *= out.dims[d];
  for (int d = axis + 1; d < out.rank; ++d)
    joint.inner *= out.dims[d];
  joint.out_width = out.dims[axis] * joint.inner;
  char* to = static_cast<char*>(out.address);
  constexpr int kMost = Concat::kInputs;
  for (int done = 0; done < count; done += kMost) {
    const int few = std::min(count - done, kMost);
    const View* from = inputs + done;
    const bool joined = concat_few(stream, joint, to, axis, few, from);
    for (int i = 0; i < few; ++i) {
      const int64_t width = from[i].dims[axis] * joint.inner;
      if (!joined)
        concat_one(stream, joint, to, from[i], width);
      to += width;
    }
  }
}

} // namespace musa_standin::engine::cuda
