// SPDX-License-Identifier: Apache-2.0
// The order in which a kernel walks operands whose neighbours lie along
// different dimensions: patch by patch, so that each reads whole sectors.
#pragma once

#include "toolkit/engine/cuda/offsets.h"

namespace musa_standin::engine::cuda {

// Elements of a patch: along the output's neighbours, and at most along the
// crossed operand's.
constexpr int64_t patch_width(int64_t bytes) {
  return bytes <= 4 ? 16 : 8;
}
constexpr int64_t kPatchHeight = 64;
// Of fewer elements, all of it stays in the caches anyway.
constexpr int64_t kLeastPatched = int64_t{1} << 15;

// The dimension along which an input's elements are neighbours while the
// output's are so along the last one; -1 if there is none. Strides in bytes.
template <size_t Operands>
int crossed_dim(const Nest<Operands>& nest, const int64_t (&bytes)[Operands]) {
  constexpr int64_t kSector = 32; // closer ones share what is read
  const int inner = nest.rank - 1;
  const bool room = nest.rank + 2 <= kMaxRank;
  if (!room || nest.strides[0][inner] != bytes[0] ||
      nest.dims[inner] < patch_width(bytes[0]))
    return -1;
  for (size_t i = 1; i < Operands; ++i) {
    if (nest.strides[i][inner] < kSector)
      continue;
    for (int d = 0; d < inner; ++d) {
      if (nest.strides[i][d] == bytes[i] && nest.dims[d] >= 8)
        return d;
    }
  }
  return -1;
}

// The same positions, those of a patch of `height` along `dim` and `width`
// along the last dimension behind each other. Both extents are multiples.
template <size_t Operands>
Nest<Operands>
in_patches(const Nest<Operands>& nest, int dim, int64_t height, int64_t width) {
  const int inner = nest.rank - 1;
  Nest<Operands> made; // NOLINT(cppcoreguidelines-pro-type-member-init)
  made.rank = 0;
  const auto put = [&](int64_t extent, int from, int64_t steps) {
    made.dims[made.rank] = extent;
    for (size_t i = 0; i < Operands; ++i)
      made.strides[i][made.rank] = nest.strides[i][from] * steps;
    ++made.rank;
  };
  for (int d = 0; d < inner; ++d) {
    if (d != dim)
      put(nest.dims[d], d, 1);
  }
  put(nest.dims[dim] / height, dim, height);
  put(nest.dims[inner] / width, inner, width);
  put(height, dim, 1);
  put(width, inner, 1);
  return made;
}

// Calls f(nest, address) for the positions in an order that suits all operands;
// what fills no patch goes apart.
template <size_t Operands, class F>
void for_patches(
    Nest<Operands> nest,
    char* const (&address)[Operands],
    const int64_t (&bytes)[Operands],
    F&& f) {
  const int dim = crossed_dim(nest, bytes);
  if (dim < 0 || nest.numel() < kLeastPatched)
    return f(nest, address);
  const auto cut = [&](int d, int64_t multiple) {
    const int64_t rest = nest.dims[d] % multiple;
    nest.dims[d] -= rest;
    if (rest == 0)
      return;
    Nest<Operands> part = nest;
    part.dims[d] = rest;
    char* from[Operands];
    for (size_t i = 0; i < Operands; ++i)
      from[i] = address[i] + nest.dims[d] * nest.strides[i][d];
    f(part, from);
  };
  int64_t height = kPatchHeight;
  while (height > 8 && nest.dims[dim] % height * 8 > nest.dims[dim])
    height /= 2;
  const int64_t width = patch_width(bytes[0]);
  cut(nest.rank - 1, width);
  cut(dim, height);
  f(in_patches(nest, dim, height, width), address);
}

} // namespace musa_standin::engine::cuda
