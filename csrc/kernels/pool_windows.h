// SPDX-License-Identifier: Apache-2.0
// Windows of pooling along one dimension, and the windows of a position.
#pragma once

#include "csrc/kernels/nest.h"
#include "csrc/kernels/pool.h"

#include <math.h> // mcc and nvcc know its functions on the device

namespace torch_fl::kernels {

// Positions begin, begin + step, ... below end; `padded` counts those inside
// the padded input.
struct Span {
  int32_t begin;
  int32_t end;
  int32_t padded;

  __host__ __device__ int32_t length() const {
    return end > begin ? end - begin : 0;
  }
};

// The windows along one dimension. Positions are divided by multiplication,
// but for images whose sides multiply to 2^32 and more.
struct Axis {
  FlWindowKind kind;
  int32_t in;
  int32_t out;
  int32_t kernel;
  int32_t stride;
  int32_t padding;
  int32_t dilation;
  Divider by_stride;
  Divider by_in;
  Divider by_out;
  bool narrow;

  static Axis
  of(const FlWindows& w, const FlImage& in, const FlImage& out, int i) {
    const int64_t from = in.sizes[2 + i];
    const int64_t to = out.sizes[2 + i];
    return {
        w.kind,
        static_cast<int32_t>(from),
        static_cast<int32_t>(to),
        w.kernel[i],
        w.stride[i],
        w.padding[i],
        w.dilation[i],
        Divider::by(static_cast<uint32_t>(w.stride[i])),
        Divider::by(static_cast<uint32_t>(from)),
        Divider::by(static_cast<uint32_t>(to)),
        (from + 1) * (to + 1) <= UINT32_MAX};
  }

  // at * times / by, rounded down or up.
  __host__ __device__ int32_t
  share(int32_t at, int32_t times, const Divider& by, bool up) const {
    const int32_t more = up ? static_cast<int32_t>(by.divisor) - 1 : 0;
    if (narrow) {
      return static_cast<int32_t>(by.quotient(
          static_cast<uint32_t>(at) * static_cast<uint32_t>(times) +
          static_cast<uint32_t>(more)));
    }
    return static_cast<int32_t>(
        (static_cast<int64_t>(at) * times + more) / by.divisor);
  }

  __host__ __device__ Span window(int32_t at) const {
    if (kind == kFlAdaptiveWindows) {
      const int32_t begin = share(at, in, by_out, false);
      const int32_t end = share(at + 1, in, by_out, true);
      return {begin, end, end - begin};
    }
    int32_t begin = at * stride - padding;
    int32_t end = begin + (kernel - 1) * dilation + 1;
    // Averages have no dilation: the difference counts positions.
    const int32_t padded = (end < in + padding ? end : in + padding) - begin;
    if (begin < 0) {
      begin = dilation == 1
          ? 0
          : begin + (-begin + dilation - 1) / dilation * dilation;
    }
    return {begin, end < in ? end : in, padded};
  }

  // No other windows than these may hold a position.
  __host__ __device__ void covering(int32_t at, int32_t& first, int32_t& last)
      const {
    if (kind == kFlAdaptiveWindows) {
      first = share(at, out, by_in, false);
      last = share(at + 1, out, by_in, true);
      return;
    }
    if (kind == kFlFractionalWindows) {
      // Window o starts within 1 of o * (in - kernel) / (out - 1): two more on
      // each side keep rounding out of it.
      const int32_t room = in - kernel;
      if (out <= 1 || room <= 0) {
        first = 0;
        last = out;
        return;
      }
      const float inverse =
          static_cast<float>(out - 1) / static_cast<float>(room);
      first = static_cast<int32_t>(
          floorf(static_cast<float>(at - kernel - 1) * inverse));
      last =
          static_cast<int32_t>(ceilf(static_cast<float>(at + 2) * inverse)) + 1;
      first = first > 0 ? first : 0;
      last = last < out ? last : out;
      return;
    }
    const int32_t missed = at + padding - (kernel - 1) * dilation;
    first = missed > 0 ? static_cast<int32_t>(by_stride.quotient(
                             static_cast<uint32_t>(missed + stride - 1)))
                       : 0;
    last = static_cast<int32_t>(
               by_stride.quotient(static_cast<uint32_t>(at + padding))) +
        1;
    last = last < out ? last : out;
  }
};

} // namespace torch_fl::kernels
