// SPDX-License-Identifier: Apache-2.0
// What the scans' kernels take, and which there are.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cuda {

// Dense operands of outer x extent x inner elements, scanned along extent.
struct CumJob {
  void* out;
  const void* in;
  int64_t outer;
  int64_t extent;
  int64_t inner;
  // Of the kernel for few long rows: pieces of a row, and a word for the turn,
  // a word for each piece (both zero before), a total for each, a sum for each.
  int64_t pieces;
  uint32_t* turn;
  uint32_t* told;
  void* totals;
  void* sums;
};

using CumKernel = void (*)(CumJob job);

constexpr int kCumThreads = 256; // of a block

struct CumKernels {
  // inner = 1: threadIdx.x (whole warps) runs over a row, threadIdx.y over
  // rows. In packs: rows that start at whole packs.
  CumKernel rows;
  CumKernel rows_packed;
  // A block for each piece of a row.
  CumKernel pieces;
  CumKernel pieces_packed;
  // A thread for each line.
  CumKernel lines;
  int pack;
  int piece; // elements of a piece; a pack-th of it without packs
};

CumKernels cum_kernels(CumMode mode, Dtype dtype);

} // namespace musa_standin::engine::cuda
