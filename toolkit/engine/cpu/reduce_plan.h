// SPDX-License-Identifier: Apache-2.0
// A reduction's operands, and the walk over the elements of one output.
#pragma once

#include "toolkit/engine/cpu/elementwise_kernels.h"
#include "toolkit/engine/cpu/reduce_kernels.h"
#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

// Extents and strides (in elements of the input), outermost first.
struct Axes {
  int32_t rank = 0;
  int64_t dims[kMaxRank];
  int64_t strides[kMaxRank];

  void add(int64_t dim, int64_t stride) {
    dims[rank] = dim;
    strides[rank++] = stride;
  }
  [[nodiscard]] int64_t last_dim() const { return dims[rank - 1]; }
  [[nodiscard]] int64_t last_stride() const { return strides[rank - 1]; }
};

// Without extents of one and with neighbours merged; ordered by strides if the
// order does not matter. At least one axis is left.
Axes merged(const Axes& axes, bool keep_order);

// Offset of the element at a linear position.
int64_t offset_of(const Axes& axes, int64_t position);

enum class ReduceKind : uint8_t { kFold, kMoments, kArg };

struct ReducePlan {
  ReduceKind kind = ReduceKind::kFold;
  ReduceMode mode = ReduceMode::kAdd;
  Compute compute = kF32;
  bool direct = false; // elements lie as the loops want them
  Dtype out_dtype = Dtype::kFloat;
  int32_t bytes = 0; // of an input element
  int32_t compute_bytes = 0;
  int32_t correction = 1;
  float order = 2;
  const char* in = nullptr;
  char* out = nullptr;        // may stay so
  int64_t* indices = nullptr; // may stay so
  LoadFn load = nullptr;
  const FoldKernels* fold = nullptr;
  const MomentKernels* moments = nullptr;
  const ArgKernels* arg = nullptr;
  int64_t outputs = 1;
  int64_t reduced = 1; // elements of one output
  Axes kept;
  Axes gone;
};

// State of n outputs: folds use `a`, moments mean and deviation, arg value and
// position.
struct ReduceState {
  Cell* a;
  Cell* b;
};

// Calls f(x, n, position) for dense pieces, in the compute type, of the
// reduced elements [begin, end) of the output whose elements start at `base`.
template <class F>
void for_pieces(
    const ReducePlan& plan,
    const char* base,
    int64_t begin,
    int64_t end,
    F&& f) {
  constexpr int64_t kDirectPiece = kFoldLanes * kFoldRows;
  constexpr int64_t kPiece = 1024;
  constexpr int64_t kShortRow = 64;
  alignas(64) char buffer[kPiece * 8];
  const Axes& gone = plan.gone;
  const int64_t row = gone.last_dim();
  const int64_t step = gone.last_stride();
  const bool in_place =
      plan.direct && step == 1 && (row >= kShortRow || gone.rank == 1);
  int64_t held = 0;
  for (int64_t at = begin; at < end;) {
    const int64_t in_row = at % row;
    const char* from = base + offset_of(gone, at) * plan.bytes;
    int64_t n = row - in_row < end - at ? row - in_row : end - at;
    if (in_place) {
      n = n < kDirectPiece ? n : kDirectPiece;
      f(from, n, at);
      at += n;
      continue;
    }
    n = n < kPiece - held ? n : kPiece - held;
    plan.load(buffer + held * plan.compute_bytes, from, n, step);
    at += n;
    held += n;
    if (held == kPiece || at == end) {
      f(buffer, held, at - held);
      held = 0;
    }
  }
}

// Calls f(x, row_step, rows, position) for rows of n neighbouring outputs, in
// the compute type; position counts reduced elements.
template <class F>
void for_row_groups(
    const ReducePlan& plan,
    const char* base,
    int64_t n,
    int64_t begin,
    int64_t end,
    F&& f) {
  constexpr int64_t kGroup = 8;
  constexpr int64_t kColumns = 256;
  alignas(64) char buffer[kGroup * kColumns * 8];
  const Axes& gone = plan.gone;
  const int64_t run = gone.last_dim();
  const int64_t column_step = plan.kept.last_stride();
  const bool in_place = plan.direct && column_step == 1;
  const int64_t limit = in_place ? kFoldRows : kGroup;
  for (int64_t at = begin; at < end;) {
    const char* from = base + offset_of(gone, at) * plan.bytes;
    int64_t rows = run - at % run;
    rows = rows < end - at ? rows : end - at;
    rows = rows < limit ? rows : limit;
    if (in_place) {
      f(from, gone.last_stride(), rows, at);
    } else {
      for (int64_t r = 0; r < rows; ++r)
        plan.load(
            buffer + r * n * plan.compute_bytes,
            from + r * gone.last_stride() * plan.bytes,
            n,
            column_step);
      f(buffer, n, rows, at);
    }
    at += rows;
  }
}

} // namespace musa_standin::engine::cpu
