// SPDX-License-Identifier: Apache-2.0
// What pooling's kernels share: where a thread is, and what a window folds to.
#pragma once

#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/offsets.h"
#include "toolkit/engine/cuda/pack.h"
#include "toolkit/engine/cuda/pooling_job.h"

#include "toolkit/kernels/math.h"
#include "toolkit/kernels/pooling.h"

#include <cstdint>

namespace musa_standin::engine::cuda {
namespace {

using kernels::Wide;
using Axis = kernels::PoolAxisOf<int32_t>;
using Window = kernels::PoolWindowOf<int32_t>;

constexpr int kThreads = 256;

inline Axis axis_of(const PoolExtent& e) {
  return {e.in, e.out, e.kernel, e.pad, e.stride, e.dilation, e.adaptive};
}

// Threads run over planes, positions and packs of channels; positions are the
// output's forward, the input's backward.
struct Shape {
  Axis d;
  Axis h;
  Axis w;
  int32_t depth;
  int32_t in_positions;
  int32_t out_positions;
  int32_t divisor;
  bool count_padding;
  Divider stride_d;
  Divider stride_h;
  Divider stride_w;
  Divider by_pack;
  Divider by_w;
  Divider by_h;
  Divider by_d;
};

inline Shape make_shape(const PoolJob& job) {
  Shape s{};
  s.d = axis_of(job.axis[0]);
  s.h = axis_of(job.axis[1]);
  s.w = axis_of(job.axis[2]);
  s.stride_d = make_divider(s.d.stride);
  s.stride_h = make_divider(s.h.stride);
  s.stride_w = make_divider(s.w.stride);
  s.depth = job.depth;
  s.in_positions = static_cast<int32_t>(job.in_positions());
  s.out_positions = static_cast<int32_t>(job.out_positions());
  s.divisor = job.divisor;
  s.count_padding = job.count_padding;
  return s;
}

struct Place {
  int32_t plane;
  int32_t d;
  int32_t h;
  int32_t w;
  int32_t pack;
};

__device__ inline uint32_t take(const Divider& by, uint32_t& n) {
  const uint32_t q = by.quotient(n);
  const uint32_t r = n - q * by.divisor;
  n = q;
  return r;
}

__device__ inline Place place_of(const Shape& s, uint32_t n) {
  Place at;
  at.pack = static_cast<int32_t>(take(s.by_pack, n));
  at.w = static_cast<int32_t>(take(s.by_w, n));
  at.h = static_cast<int32_t>(take(s.by_h, n));
  at.d = static_cast<int32_t>(take(s.by_d, n));
  at.plane = static_cast<int32_t>(n);
  return at;
}

__device__ inline int32_t length(const Window& w) {
  return w.end > w.begin ? w.end - w.begin : 0;
}

// 0 for a window that holds padding alone.
__device__ inline int32_t
divisor_of(const Shape& s, const Window& d, const Window& h, const Window& w) {
  if (s.divisor != 0)
    return s.divisor;
  return s.count_padding ? d.padded * h.padded * w.padded
                         : length(d) * length(h) * length(w);
}

// f(T()) for FLOAT, HALF, BFLOAT16 and DOUBLE, the only types that the callers
// let through.
template <class F>
void with_floating(Dtype dtype, F&& f) {
  switch (dtype) {
  case Dtype::kHalf:
    return f(kernels::Half{});
  case Dtype::kBfloat16:
    return f(kernels::Bfloat16{});
  case Dtype::kDouble:
    return f(double{});
  default:
    return f(float{});
  }
}

// Can the images be read in packs of 16 bytes along the channels?
template <class T>
bool channels_pack(const PoolJob& job) {
  return job.depth % kPack<T> == 0 && packable(job.in) && packable(job.out) &&
      (job.indices == nullptr || packable(job.indices));
}

} // namespace
} // namespace musa_standin::engine::cuda
