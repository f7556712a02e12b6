// SPDX-License-Identifier: Apache-2.0
// An image as planes of channels.
#pragma once

#include "toolkit/engine/dnn_types.h"

namespace musa_standin::engine::cuda {

// Elements of channel c: [b][c][0, plane) for b in [0, batch).
struct ChannelExtents {
  int64_t batch;
  int64_t channels;
  int64_t plane;
};

// Channels last are planes of one element.
inline ChannelExtents channel_extents(const View& in) {
  ChannelExtents e = {in.dims[0], 1, 1};
  const bool last = in.layout == Layout::kNhwc || in.layout == Layout::kNdhwc;
  const int axis = last ? in.rank - 1 : 1;
  if (in.rank > 1)
    e.channels = in.dims[axis];
  for (int i = 1; i < in.rank; ++i)
    (last ? e.batch : e.plane) *= i == axis ? 1 : in.dims[i];
  return e;
}

// Each element of an image is a channel.
inline ChannelExtents activation_extents(const View& in) {
  const int64_t batch = in.dims[0];
  return {batch, batch == 0 ? 0 : in.numel / batch, 1};
}

} // namespace musa_standin::engine::cuda
