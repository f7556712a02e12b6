// SPDX-License-Identifier: Apache-2.0
// Pooling as its kernels see it: planes of three axes, small enough for 32
// bits.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine {
class Stream;
}

namespace musa_standin::engine::cuda {

struct PoolExtent {
  int32_t in = 1;
  int32_t out = 1;
  int32_t kernel = 1;
  int32_t pad = 0;
  int32_t stride = 1;
  int32_t dilation = 1;
  bool adaptive = false;
};

// planes images of positions with `depth` channels side by side (1 where each
// channel is a plane). Indices count positions of a plane; forward they may be
// null. Backward, in is the gradient that is made, out the one that comes in.
struct PoolJob {
  Dtype dtype;
  bool maximum;
  bool count_padding;
  int32_t divisor; // 0: the window's size
  int32_t depth;
  int64_t planes;
  PoolExtent axis[3]; // depth, height, width
  void* in;
  void* out;
  int64_t* indices;

  [[nodiscard]] int64_t in_positions() const {
    return int64_t{axis[0].in} * axis[1].in * axis[2].in;
  }
  [[nodiscard]] int64_t out_positions() const {
    return int64_t{axis[0].out} * axis[1].out * axis[2].out;
  }
};

// Both images have less than 2^31 elements.
void pooling_forward(engine::Stream& stream, const PoolJob& job);
void pooling_backward(engine::Stream& stream, const PoolJob& job);

} // namespace musa_standin::engine::cuda
