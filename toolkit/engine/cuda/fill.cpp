// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's fills, everywhere or under a mask.
#include "toolkit/engine/cuda/copy_kernels.h"
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/launch.h"

#include "toolkit/kernels/scalar_types.h"

#include <algorithm>

namespace musa_standin::engine::cuda {

namespace {

// The element's bytes, lowest first.
uint64_t element_bits(Dtype type, Scalar value) {
  switch (type) {
  case Dtype::kFloat:
    return kernels::bits_as<uint32_t>(static_cast<float>(value.as_double()));
  case Dtype::kHalf:
    return kernels::to_half(static_cast<float>(value.as_double())).bits;
  case Dtype::kBfloat16:
    return kernels::to_bfloat16(static_cast<float>(value.as_double())).bits;
  case Dtype::kBool:
    return value.bits != 0 ? 1 : 0;
  default:
    return value.bits;
  }
}

// Eight bytes of elements.
uint64_t pattern(Dtype type, Scalar value) {
  uint64_t bits = element_bits(type, value);
  for (int64_t bytes = element_bytes(type); bytes < 8; bytes *= 2) {
    const int width = static_cast<int>(8 * bytes);
    bits &= (uint64_t{1} << width) - 1;
    bits |= bits << width;
  }
  return bits;
}

void fill_dense(engine::Stream& stream, void* out, int64_t n, uint64_t bits) {
  const auto place = static_cast<int64_t>(reinterpret_cast<uintptr_t>(out));
  DenseFillArgs args; // NOLINT(cppcoreguidelines-pro-type-member-init)
  args.out = static_cast<char*>(out);
  args.head = std::min(n, -place & 15);
  args.vectors = (n - args.head) / 16;
  args.tail = (n - args.head) % 16;
  args.pattern = bits;
  constexpr int64_t kBlock = kMoveThreads * kMoves;
  const int64_t blocks =
      std::max<int64_t>(1, (args.vectors + kBlock - 1) / kBlock);
  launch(
      stream,
      move_table().dense_fill,
      static_cast<unsigned>(blocks),
      kMoveThreads,
      0,
      args);
}

template <size_t Operands>
void fill_piece(
    engine::Stream& stream,
    Nest<Operands> nest,
    char* const (&address)[Operands],
    int64_t bytes,
    uint64_t bits) {
  MoveArgs args; // NOLINT(cppcoreguidelines-pro-type-member-init)
  args.out = address[0];
  args.in = address[Operands - 1];
  args.pattern = bits;
  MoveKernel kernel = nullptr;
  if constexpr (Operands == 2) {
    kernel =
        move_table().masked_fill[__builtin_ctzll(static_cast<uint64_t>(bytes))];
    args.offsets = make_offsets(nest);
  } else {
    kernel = move_table().fill[widen(nest, address, bytes)];
    // The kernel's second operand is not read.
    Nest<2> both; // NOLINT(cppcoreguidelines-pro-type-member-init)
    both.rank = nest.rank;
    for (int d = 0; d < nest.rank; ++d) {
      both.dims[d] = nest.dims[d];
      both.strides[0][d] = both.strides[1][d] = nest.strides[0][d];
    }
    args.offsets = make_offsets(both);
  }
  args.numel = static_cast<uint32_t>(nest.numel());
  constexpr unsigned kBlock = kMoveThreads * kMoves;
  launch(
      stream,
      kernel,
      (args.numel + kBlock - 1) / kBlock,
      kMoveThreads,
      0,
      args);
}

template <size_t Operands>
void fill_strided(
    engine::Stream& stream,
    const View* const (&views)[Operands],
    uint64_t bits) {
  const int64_t bytes = element_bytes(views[0]->dtype);
  Nest<Operands> nest = make_nest(views);
  collapse(nest);
  if (Operands == 1 && nest.rank == 1 && nest.strides[0][0] == bytes) {
    fill_dense(stream, views[0]->address, nest.dims[0] * bytes, bits);
    return;
  }
  char* address[Operands];
  for (size_t i = 0; i < Operands; ++i)
    address[i] = static_cast<char*>(views[i]->address);
  for_pieces(
      nest,
      address,
      [&](const Nest<Operands>& piece, char* const(&from)[Operands]) {
        fill_piece<Operands>(stream, piece, from, bytes, bits);
      });
}

} // namespace

void CudaDnn::fill(
    Stream& stream,
    const View& out,
    Scalar value,
    const View* mask) {
  const uint64_t bits = pattern(out.dtype, value);
  if (mask != nullptr) {
    const View* const views[] = {&out, mask};
    fill_strided<2>(stream, views, bits);
  } else if (out.dense) {
    fill_dense(stream, out.address, out.numel * element_bytes(out.dtype), bits);
  } else {
    const View* const views[] = {&out};
    fill_strided<1>(stream, views, bits);
  }
}

} // namespace musa_standin::engine::cuda
