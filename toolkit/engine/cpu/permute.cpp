// SPDX-License-Identifier: Apache-2.0
// The CPU engine's copies by strides, and concatenation.
#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/elementwise.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/rows.h"
#include "toolkit/engine/cpu/stream.h"

#include <algorithm>
#include <cstring>

namespace musa_standin::engine::cpu {

namespace {

constexpr int64_t kCopyGrainBytes = int64_t{1} << 17;

struct DenseCopy {
  void* out;
  const void* in;
  int64_t bytes;
  void operator()() const {
    char* to = host<char>(out);
    const char* from = host<const char>(in);
    parallel_for(bytes, kCopyGrainBytes, [=](int64_t begin, int64_t end) {
      std::memmove(to + begin, from + begin, static_cast<size_t>(end - begin));
    });
  }
};

template <class E>
void copy_row(
    char* to,
    int64_t to_step,
    const char* from,
    int64_t from_step,
    int64_t n) {
  if (to_step == sizeof(E) && from_step == sizeof(E)) {
    std::memmove(to, from, static_cast<size_t>(n) * sizeof(E));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    E value;
    std::memcpy(&value, from + i * from_step, sizeof(E));
    std::memcpy(to + i * to_step, &value, sizeof(E));
  }
}

// Rows along the output whose elements lie far apart in the input: a square
// of both at a time, so that each cache line is read once.
template <class E>
void copy_tiles(
    const RowNest<2>& nest,
    char* to,
    const char* from,
    int64_t row0,
    int64_t row1,
    int64_t columns) {
  constexpr int64_t kTile = 32;
  const int r = nest.rank - 2;
  const int c = nest.rank - 1;
  for (int64_t i = row0; i < row1; i += kTile) {
    const int64_t rows = std::min(kTile, row1 - i);
    for (int64_t j = 0; j < columns; j += kTile) {
      const int64_t n = std::min(kTile, columns - j);
      for (int64_t k = 0; k < rows; ++k) {
        copy_row<E>(
            to + (i + k) * nest.strides[0][r] + j * nest.strides[0][c],
            nest.strides[0][c],
            from + (i + k) * nest.strides[1][r] + j * nest.strides[1][c],
            nest.strides[1][c],
            n);
      }
    }
  }
}

struct StridedCopy {
  ElementNest nest; // operand 0 is the output
  void* out;
  const void* in;
  int64_t numel;
  int64_t bytes;

  [[nodiscard]] RowNest<2> rows() const {
    ElementNest merged = nest;
    collapse(merged, 2);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): set by rank
    RowNest<2> r;
    r.rank = merged.rank;
    for (int d = 0; d < merged.rank; ++d) {
      r.dims[d] = merged.dims[d];
      for (int i = 0; i < 2; ++i)
        r.strides[i][d] = merged.strides[i][d] * bytes;
    }
    return r;
  }

  template <class E>
  void run() const {
    const RowNest<2> r = rows();
    char* base[] = {host<char>(out), host<char>(in)};
    const int last = r.rank - 1;
    const int64_t grain = std::max<int64_t>(1, kCopyGrainBytes / 4 / bytes);
    const bool crossed = last > 0 && r.strides[1][last] > 64 &&
        r.strides[1][last - 1] < r.strides[1][last] && r.dims[last] > 8;
    if (!crossed) {
      parallel_for(numel, grain, [&](int64_t begin, int64_t end) {
        for_rows<2>(r, base, begin, end, [&](char* const* at, int64_t n) {
          copy_row<E>(at[0], r.strides[0][last], at[1], r.strides[1][last], n);
        });
      });
      return;
    }
    // Bands of rows of the two inner extents, for every outer position.
    const int64_t rows_in_band = 32;
    const int64_t bands = (r.dims[last - 1] + rows_in_band - 1) / rows_in_band;
    const int64_t outer = numel / (r.dims[last] * r.dims[last - 1]);
    const int64_t band_grain =
        std::max<int64_t>(1, grain / (rows_in_band * r.dims[last]));
    parallel_for(outer * bands, band_grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        char* to = base[0];
        const char* from = base[1];
        int64_t rest = b / bands;
        for (int d = last - 2; d >= 0; --d) {
          const int64_t i = rest % r.dims[d];
          rest /= r.dims[d];
          to += i * r.strides[0][d];
          from += i * r.strides[1][d];
        }
        const int64_t row0 = b % bands * rows_in_band;
        copy_tiles<E>(
            r,
            to,
            from,
            row0,
            std::min(row0 + rows_in_band, r.dims[last - 1]),
            r.dims[last]);
      }
    });
  }

  void operator()() const {
    switch (bytes) {
    case 2:
      return run<uint16_t>();
    case 4:
      return run<uint32_t>();
    case 8:
      return run<uint64_t>();
    default:
      return run<uint8_t>();
    }
  }
};

// One input of a concatenation: `outer` pieces into a wider row.
struct Piece {
  void* out;
  const void* in;
  int64_t outer;
  int64_t bytes;
  int64_t out_step;
  void operator()() const {
    char* to = host<char>(out);
    const char* from = host<const char>(in);
    const int64_t grain = std::max<int64_t>(1, kCopyGrainBytes / bytes);
    if (outer == 1)
      return DenseCopy{out, in, bytes}();
    parallel_for(outer, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::memcpy(
            to + i * out_step,
            from + i * bytes,
            static_cast<size_t>(bytes));
    });
  }
};

} // namespace

void CpuDnn::copy(engine::Stream& stream, const View& out, const View& in) {
  const int64_t bytes = element_bytes(out.dtype);
  if (out.dense && in.dense) {
    submit(
        stream,
        "Permute",
        DenseCopy{out.address, in.address, out.numel * bytes});
    return;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): set by rank
  StridedCopy task;
  task.out = out.address;
  task.in = in.address;
  task.numel = out.numel;
  task.bytes = bytes;
  task.nest.rank = out.rank;
  for (int d = 0; d < out.rank; ++d) {
    task.nest.dims[d] = out.dims[d];
    task.nest.strides[0][d] = out.strides[d];
    task.nest.strides[1][d] = in.strides[d];
  }
  submit(stream, "Permute", task);
}

void CpuDnn::concat(
    engine::Stream& stream,
    const View& out,
    int axis,
    int count,
    const View* inputs) {
  int64_t outer = 1;
  int64_t inner = element_bytes(out.dtype);
  for (int d = 0; d < axis; ++d)
    outer *= out.dims[d];
  for (int d = axis + 1; d < out.rank; ++d)
    inner *= out.dims[d];
  char* to = static_cast<char*>(out.address);
  for (int i = 0; i < count; ++i) {
    const int64_t bytes = inputs[i].dims[axis] * inner;
    submit(
        stream,
        "Concat",
        Piece{to, inputs[i].address, outer, bytes, out.dims[axis] * inner});
    to += bytes;
  }
}

} // namespace musa_standin::engine::cpu
