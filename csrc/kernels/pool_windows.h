// SPDX-License-Identifier: Apache-2.0
// Windows of pooling along one dimension, and the windows of a position.
#pragma once

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

// The windows along one dimension.
struct Axis {
  FlWindowKind kind;
  int32_t in;
  int32_t out;
  int32_t kernel;
  int32_t stride;
  int32_t padding;
  int32_t dilation;

  static Axis
  of(const FlWindows& w, const FlImage& in, const FlImage& out, int i) {
    return {
        w.kind,
        static_cast<int32_t>(in.sizes[2 + i]),
        static_cast<int32_t>(out.sizes[2 + i]),
        w.kernel[i],
        w.stride[i],
        w.padding[i],
        w.dilation[i]};
  }

  __host__ __device__ Span window(int32_t at) const {
    if (kind == kFlAdaptiveWindows) {
      const auto wide = static_cast<int64_t>(at);
      const auto begin = static_cast<int32_t>(wide * in / out);
      const auto end = static_cast<int32_t>(((wide + 1) * in + out - 1) / out);
      return {begin, end, end - begin};
    }
    int32_t begin = at * stride - padding;
    int32_t end = begin + (kernel - 1) * dilation + 1;
    // Averages have no dilation: the difference counts positions.
    const int32_t padded = (end < in + padding ? end : in + padding) - begin;
    if (begin < 0) {
      begin += (-begin + dilation - 1) / dilation * dilation;
    }
    return {begin, end < in ? end : in, padded};
  }

  // No other windows than these may hold a position.
  __host__ __device__ void covering(int32_t at, int32_t& first, int32_t& last)
      const {
    if (kind == kFlAdaptiveWindows) {
      const auto wide = static_cast<int64_t>(at);
      first = static_cast<int32_t>(wide * out / in);
      last = static_cast<int32_t>(((wide + 1) * out + in - 1) / in);
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
    first = missed > 0 ? (missed + stride - 1) / stride : 0;
    last = (at + padding) / stride + 1;
    last = last < out ? last : out;
  }
};

} // namespace torch_fl::kernels
