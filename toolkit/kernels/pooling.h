// SPDX-License-Identifier: Apache-2.0
// Windows of pooling along one dimension.
#pragma once

#include "toolkit/kernels/scalar_types.h"

#include <cstdint>

namespace musa_standin::kernels {
namespace {

// Index is signed; the numbers in it stay below in * (out + 1).
template <class Index>
struct PoolAxisOf {
  Index in;
  Index out;
  Index kernel;
  Index pad;
  Index stride;
  Index dilation;
  bool adaptive; // windows from the extents alone
};
using PoolAxis = PoolAxisOf<int64_t>;

// Positions begin, begin + step, … below end; `padded` counts the window's
// positions inside the padded input.
template <class Index>
struct PoolWindowOf {
  Index begin;
  Index end;
  Index padded;
};
using PoolWindow = PoolWindowOf<int64_t>;

template <class Index>
MUSA_KERNEL_FN PoolWindowOf<Index> pool_window(
    const PoolAxisOf<Index>& a,
    Index at) {
  if (a.adaptive) {
    const Index begin = at * a.in / a.out;
    const Index end = ((at + 1) * a.in + a.out - 1) / a.out;
    return {begin, end, end - begin};
  }
  Index begin = at * a.stride - a.pad;
  Index end = begin + (a.kernel - 1) * a.dilation + 1;
  // Average pooling has no dilation: positions are the difference.
  const Index padded = (end < a.in + a.pad ? end : a.in + a.pad) - begin;
  if (begin < 0)
    begin += (-begin + a.dilation - 1) / a.dilation * a.dilation;
  end = end < a.in ? end : a.in;
  return {begin, end, padded};
}

// Outputs [first, last) have windows that lie inside the input.
template <class Index>
MUSA_KERNEL_FN void
pool_interior(const PoolAxisOf<Index>& a, Index& first, Index& last) {
  const Index reach = (a.kernel - 1) * a.dilation + 1;
  first = (a.pad + a.stride - 1) / a.stride;
  last = a.in + a.pad >= reach ? (a.in + a.pad - reach) / a.stride + 1 : 0;
  last = last < a.out ? last : a.out;
  first = first < last ? first : last;
}

// The windows of outputs [first, last), and no others, may hold a position of
// [begin, end); with a dilation some of them may step over it. by_stride(n) is
// n / stride for n >= 0, which a device has cheaper ways to find.
template <class Index, class Divide>
MUSA_KERNEL_FN void pool_covering(
    const PoolAxisOf<Index>& a,
    Index begin,
    Index end,
    Divide&& by_stride,
    Index& first,
    Index& last) {
  if (a.adaptive) {
    first = begin * a.out / a.in;
    last = (end * a.out + a.in - 1) / a.in;
    return;
  }
  const Index missed = begin + a.pad - (a.kernel - 1) * a.dilation;
  first = missed > 0 ? by_stride(missed + a.stride - 1) : 0;
  last = by_stride(end - 1 + a.pad) + 1;
  last = last < a.out ? last : a.out;
}

} // namespace
} // namespace musa_standin::kernels
