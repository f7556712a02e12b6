// SPDX-License-Identifier: Apache-2.0
// Walks operands of equal sizes and any strides row by row.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace musa_standin::engine::cpu {

// Sizes, and strides of N operands in bytes, outermost first.
template <size_t N>
struct RowNest {
  int32_t rank;
  int64_t dims[kMaxRank];
  int64_t strides[N][kMaxRank];
};

// Calls f(addresses, n) for the stretches of rows that make up the elements
// [begin, end) in row-major order.
template <size_t N, class F>
void for_rows(
    const RowNest<N>& nest,
    char* const (&base)[N],
    int64_t begin,
    int64_t end,
    F&& f) {
  const int last = nest.rank - 1;
  int64_t index[kMaxRank];
  char* row[N];
  int64_t rest = begin / nest.dims[last];
  for (size_t i = 0; i < N; ++i)
    row[i] = base[i];
  for (int d = last - 1; d >= 0; --d) {
    index[d] = rest % nest.dims[d];
    rest /= nest.dims[d];
    for (size_t i = 0; i < N; ++i)
      row[i] += index[d] * nest.strides[i][d];
  }
  int64_t at = begin % nest.dims[last];
  for (int64_t done = begin; done < end;) {
    const int64_t n = std::min(nest.dims[last] - at, end - done);
    char* from[N];
    for (size_t i = 0; i < N; ++i)
      from[i] = row[i] + at * nest.strides[i][last];
    f(from, n);
    done += n;
    at = 0;
    for (int d = last - 1; d >= 0; --d) {
      if (++index[d] < nest.dims[d]) {
        for (size_t i = 0; i < N; ++i)
          row[i] += nest.strides[i][d];
        break;
      }
      index[d] = 0;
      for (size_t i = 0; i < N; ++i)
        row[i] -= (nest.dims[d] - 1) * nest.strides[i][d];
    }
  }
}

} // namespace musa_standin::engine::cpu
