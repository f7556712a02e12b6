// SPDX-License-Identifier: Apache-2.0
// What the batch normalisation's kernels take, and which there are.
#pragma once

#include "toolkit/engine/cuda/axes.h"
#include "toolkit/engine/cuda/channels.h"

#include <cstdint>

namespace musa_standin::engine::cuda {

// Statistics, scale and shift are FLOAT, for DOUBLE elements DOUBLE; absent
// ones are null.
struct BatchNormJob {
  ChannelExtents extents;
  double epsilon;
  double momentum;
  void* out; // backward: the input's gradient
  const void* in;
  const void* grad_out;
  void* running_mean;
  void* running_var;
  void* save_mean;
  void* save_invstd;
  const void* gamma;
  const void* beta;
  void* grad_gamma;
  void* grad_beta;
  void* grad_mean;
  void* grad_var;
  void* scales;  // of each channel; null in inference: from what was running
  void* partial; // states [splits][channels]
  int32_t splits;
  Axes planes; // of one channel: its batch and, in packs, its plane
};

using BatchNormKernel = void (*)(BatchNormJob job);

constexpr int kChannelThreads = 256; // of a block
constexpr int kSettleThreads = 32;   // of a channel

// For planes of more than one element and for rows of channels, in packs of
// neighbours or not.
struct BatchNormKernels {
  // Sums of a channel; sets its scales if there is one split. Planes: a block
  // for each channel and split. Rows: threadIdx.x over packs of channels,
  // threadIdx.y over rows, blockIdx.y over splits.
  BatchNormKernel sums_planes[2];
  BatchNormKernel sums_rows[2];
  // Joins the splits and sets the scales; kWarp channels a block.
  BatchNormKernel settle;
  // Planes: threadIdx.x over a plane, threadIdx.y over planes. Rows: as above,
  // blockIdx.y over rows.
  BatchNormKernel apply_planes[2];
  BatchNormKernel apply_rows[2];
  // All of it by one block: of a channel, or of kWarp channels.
  BatchNormKernel alone_planes;
  BatchNormKernel alone_rows;
  int pack;
  int state_bytes;
  int scale_bytes;
};

BatchNormKernels batch_norm_forward_kernels(Dtype dtype);
BatchNormKernels batch_norm_backward_kernels(Dtype dtype);

} // namespace musa_standin::engine::cuda
