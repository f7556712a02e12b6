// SPDX-License-Identifier: Apache-2.0
// Grids for operators that work on whole contiguous rows.
#pragma once

#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/pack.h"

#include <cstdint>
#include <initializer_list>

namespace musa_standin::engine::cuda {

constexpr int kRowThreads = 512; // of a block, at most

// threadIdx.x runs over a row, threadIdx.y over rows; each thread holds up to
// `each` packs of `pack` elements of its row. each = 0: the row is too long to
// be held, and one block walks along it.
struct RowGrid {
  int pack = 1;
  int each = 0;
  int x = 1;
  int y = 1;
  int64_t blocks = 0;

  [[nodiscard]] dim3 grid() const { return {static_cast<unsigned>(blocks)}; }
  [[nodiscard]] dim3 block() const {
    return {static_cast<unsigned>(x), static_cast<unsigned>(y)};
  }
};

// Can rows of so many elements be read in packs at all the addresses?
inline bool packable_rows(
    int64_t columns,
    int64_t pack,
    std::initializer_list<const void*> addresses) {
  for (const void* address : addresses) {
    if (!packable(address))
      return false;
  }
  return columns % pack == 0;
}

// most: packs that a thread may hold, a power of two.
inline RowGrid
row_grid(int64_t rows, int64_t columns, int pack, int most, int device) {
  RowGrid g;
  g.pack = pack;
  const int64_t packs = columns / pack;
  if (packs > int64_t{kRowThreads} * most) {
    g.x = kRowThreads;
    g.blocks = rows;
    return g;
  }
  g.each = 1;
  while (g.x < kWarp && g.x < packs)
    g.x *= 2;
  while (g.each < most && int64_t{g.x} * g.each < packs)
    g.each *= 2;
  while (int64_t{g.x} * g.each < packs)
    g.x *= 2;
  // Few rows: more threads for each.
  const int64_t busy = int64_t{1024} * multiprocessors(device);
  while (g.each > 1 && g.x < kRowThreads && rows * g.x < busy) {
    g.each /= 2;
    g.x *= 2;
  }
  g.y = g.x < 256 ? 256 / g.x : 1;
  while (g.y > 1 && g.x * g.y > kWarp && rows <= g.y / 2)
    g.y /= 2;
  g.blocks = (rows + g.y - 1) / g.y;
  return g;
}

} // namespace musa_standin::engine::cuda
