// SPDX-License-Identifier: Apache-2.0
// Windows of pooling along one dimension.
#pragma once

#include "toolkit/kernels/scalar_types.h"

#include <cstdint>

namespace musa_standin::kernels {
namespace {

struct PoolAxis {
  int64_t in;
  int64_t out;
  int64_t kernel;
  int64_t pad;
  int64_t stride;
  int64_t dilation;
  bool adaptive; // windows from the extents alone
};

// Positions begin, begin + step, … below end; `padded` counts the window's
// positions inside the padded input.
struct PoolWindow {
  int64_t begin;
  int64_t end;
  int64_t padded;
};

MUSA_KERNEL_FN PoolWindow pool_window(const PoolAxis& a, int64_t at) {
  if (a.adaptive) {
    const int64_t begin = at * a.in / a.out;
    const int64_t end = ((at + 1) * a.in + a.out - 1) / a.out;
    return {begin, end, end - begin};
  }
  int64_t begin = at * a.stride - a.pad;
  int64_t end = begin + (a.kernel - 1) * a.dilation + 1;
  // Average pooling has no dilation: positions are the difference.
  const int64_t padded = (end < a.in + a.pad ? end : a.in + a.pad) - begin;
  if (begin < 0)
    begin += (-begin + a.dilation - 1) / a.dilation * a.dilation;
  end = end < a.in ? end : a.in;
  return {begin, end, padded};
}

// Outputs [first, last) have windows that lie inside the input.
MUSA_KERNEL_FN void
pool_interior(const PoolAxis& a, int64_t& first, int64_t& last) {
  const int64_t reach = (a.kernel - 1) * a.dilation + 1;
  first = (a.pad + a.stride - 1) / a.stride;
  last = a.in + a.pad >= reach ? (a.in + a.pad - reach) / a.stride + 1 : 0;
  last = last < a.out ? last : a.out;
  first = first < last ? first : last;
}

} // namespace
} // namespace musa_standin::kernels
