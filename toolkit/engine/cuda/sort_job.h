// SPDX-License-Identifier: Apache-2.0
// Sorting as its kernels see it: lines of keys that compare as unsigned
// numbers, whatever the elements are.
#pragma once

#include "toolkit/engine/cuda/offsets.h"

#include "toolkit/engine/dnn_types.h"

#include <cstddef>
#include <cstdint>

namespace musa_standin::engine {
class Stream;
}

namespace musa_standin::engine::cuda {

// How elements become keys: ascending, in the order that is asked for, with
// equal keys for what compares as equal. NaN counts as the largest number.
struct KeyCodec {
  enum class Kind : uint8_t { kUnsigned, kSigned, kFloating };
  uint64_t infinity; // its bits, of floating elements
  int32_t bytes;
  Kind kind;
  bool descending;

  KeyCodec(Dtype type, bool descends);
};

// outer x extent x inner elements; a line runs along extent, its neighbours
// `inner` apart. Of each line `items` are sorted and the first `kept` written.
struct SortJob {
  KeyCodec codec;
  int64_t lines; // outer * inner
  int64_t extent;
  int64_t inner;
  Divider by_inner; // if lines < 2^31
  int64_t items;
  int64_t kept;
  const uint32_t* positions; // of a line's items, ascending; null: all of it
  const void* in;
  void* values;     // or null
  int64_t* indices; // or null
};

// Up to so many items fit a block.
constexpr int64_t kBlockItems = 4096;
void sort_in_blocks(engine::Stream& stream, const SortJob& job);

// Any number of items below 2^31; all are kept. `together` lines are sorted at
// once, for which so much workspace is needed.
void sort_by_radix(
    engine::Stream& stream,
    const SortJob& job,
    int64_t together,
    Workspace workspace);
size_t radix_bytes(int64_t together, int64_t items, int64_t element_bytes);

// The positions of each line's first `kept` in order, lowest positions first
// among equals: those that are strictly before the last, ascending, then the
// others, ascending.
void select_first(
    engine::Stream& stream,
    const SortJob& job,
    uint32_t* positions,
    Workspace workspace);
size_t select_first_bytes(int64_t lines);

// What the families want of workspace.
size_t sort_workspace_bytes(const View& in);
size_t topk_workspace_bytes(const View& in);

} // namespace musa_standin::engine::cuda
