// SPDX-License-Identifier: Apache-2.0
// Index math of strided operands: dimensions merged on the host, divisions as
// multiplications in the kernel, 32 bits throughout.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include "toolkit/kernels/scalar_types.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace musa_standin::engine::cuda {

// n / divisor and n % divisor for n and divisor below 2^31.
struct Divider {
  uint32_t divisor = 1;
  uint32_t magic = 1;
  uint32_t shift = 0;

  MUSA_KERNEL_FN uint32_t quotient(uint32_t n) const {
#if defined(__CUDA_ARCH__)
    const uint32_t high = __umulhi(n, magic);
#else
    const auto high =
        static_cast<uint32_t>(static_cast<uint64_t>(n) * magic >> 32);
#endif
    return (high + n) >> shift;
  }
};

inline Divider make_divider(int64_t divisor) {
  const auto d = static_cast<uint64_t>(divisor);
  uint32_t shift = 0;
  while ((uint64_t{1} << shift) < d)
    ++shift;
  const uint64_t magic = (((uint64_t{1} << shift) - d) << 32) / d + 1;
  return {static_cast<uint32_t>(d), static_cast<uint32_t>(magic), shift};
}

// Operands over common extents, outermost first; strides in any unit.
template <size_t Operands>
struct Nest {
  int32_t rank;
  int64_t dims[kMaxRank];
  int64_t strides[Operands][kMaxRank];

  [[nodiscard]] int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d)
      n *= dims[d];
    return n;
  }
};

// Strides in bytes of views of equal sizes.
template <size_t Operands>
Nest<Operands> make_nest(const View* const (&views)[Operands]) {
  Nest<Operands> nest; // NOLINT(cppcoreguidelines-pro-type-member-init)
  nest.rank = views[0]->rank;
  for (size_t i = 0; i < Operands; ++i) {
    const int64_t bytes = element_bytes(views[i]->dtype);
    for (int d = 0; d < nest.rank; ++d) {
      nest.dims[d] = views[0]->dims[d];
      nest.strides[i][d] = views[i]->strides[d] * bytes;
    }
  }
  return nest;
}

// Drops extents of one, orders the others by the first operand's strides and
// merges what lies in one piece for all operands. The rank is 1 at least.
template <size_t Operands>
void collapse(Nest<Operands>& nest) {
  const auto put = [&](int to, int64_t extent, int from) {
    nest.dims[to] = extent;
    for (size_t i = 0; i < Operands; ++i)
      nest.strides[i][to] = nest.strides[i][from];
  };
  int rank = 0;
  for (int d = 0; d < nest.rank; ++d) {
    if (nest.dims[d] != 1)
      put(rank++, nest.dims[d], d);
  }
  if (rank == 0)
    put(rank++, 1, 0);
  for (int d = 1; d < rank; ++d) {
    const int64_t* order = nest.strides[0];
    for (int e = d; e > 0 && order[e - 1] < order[e]; --e) {
      std::swap(nest.dims[e - 1], nest.dims[e]);
      for (size_t i = 0; i < Operands; ++i)
        std::swap(nest.strides[i][e - 1], nest.strides[i][e]);
    }
  }
  int last = 0;
  for (int d = 1; d < rank; ++d) {
    bool joins = true;
    for (size_t i = 0; i < Operands; ++i)
      joins &= nest.strides[i][last] == nest.strides[i][d] * nest.dims[d];
    const int64_t outer = joins ? nest.dims[last] : 1;
    last += joins ? 0 : 1;
    put(last, outer * nest.dims[d], d);
  }
  nest.rank = last + 1;
}

// Do positions fit 31 bits, and the operands' offsets 32?
template <size_t Operands>
bool fits(const Nest<Operands>& nest) {
  constexpr int64_t kPositions = int64_t{1} << 31;
  constexpr int64_t kReach = int64_t{1} << 32;
  if (nest.numel() >= kPositions)
    return false;
  for (size_t i = 0; i < Operands; ++i) {
    int64_t reach = 0;
    for (int d = 0; d < nest.rank; ++d)
      reach += (nest.dims[d] - 1) * nest.strides[i][d];
    if (reach >= kReach)
      return false;
  }
  return true;
}

// Calls f(nest, address) for pieces that fit, each with its operands'
// addresses; strides are in bytes. One piece in all but huge calls.
template <size_t Operands, class F>
void for_pieces(
    const Nest<Operands>& nest,
    char* const (&address)[Operands],
    F&& f) {
  if (__builtin_expect(fits(nest), 1)) {
    f(nest, address);
    return;
  }
  // Halves the outermost extent that can be.
  int d = 0;
  while (nest.dims[d] == 1)
    ++d;
  Nest<Operands> part = nest;
  const int64_t half = nest.dims[d] / 2;
  part.dims[d] = half;
  for_pieces(part, address, f);
  part.dims[d] = nest.dims[d] - half;
  char* rest[Operands];
  for (size_t i = 0; i < Operands; ++i)
    rest[i] = address[i] + half * nest.strides[i][d];
  for_pieces(part, rest, f);
}

// From a position in a nest that fits to the operands' offsets, in the unit of
// its strides.
template <size_t Operands>
struct Offsets {
  int32_t rank;
  // Innermost first.
  Divider dims[kMaxRank];
  uint32_t strides[kMaxRank][Operands];

  // Of several positions at once.
  template <size_t Count>
  MUSA_KERNEL_FN void of(
      uint32_t (&position)[Count],
      uint32_t (&at)[Operands][Count]) const {
    for (size_t i = 0; i < Operands; ++i) {
      for (size_t k = 0; k < Count; ++k)
        at[i][k] = 0;
    }
    int d = 0;
    for (; d < rank - 1; ++d) {
      const Divider divider = dims[d];
      for (size_t k = 0; k < Count; ++k) {
        const uint32_t rest = divider.quotient(position[k]);
        const uint32_t index = position[k] - rest * divider.divisor;
        position[k] = rest;
        for (size_t i = 0; i < Operands; ++i)
          at[i][k] += index * strides[d][i];
      }
    }
    for (size_t k = 0; k < Count; ++k) {
      for (size_t i = 0; i < Operands; ++i)
        at[i][k] += position[k] * strides[d][i];
    }
  }
};

template <size_t Operands>
Offsets<Operands> make_offsets(const Nest<Operands>& nest) {
  Offsets<Operands> offsets; // NOLINT(cppcoreguidelines-pro-type-member-init)
  offsets.rank = nest.rank;
  for (int d = 0; d < nest.rank; ++d) {
    const int from = nest.rank - 1 - d;
    offsets.dims[d] = make_divider(nest.dims[from]);
    for (size_t i = 0; i < Operands; ++i)
      offsets.strides[d][i] = static_cast<uint32_t>(nest.strides[i][from]);
  }
  return offsets;
}

} // namespace musa_standin::engine::cuda
