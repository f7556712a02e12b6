// SPDX-License-Identifier: Apache-2.0
// Bytes of workspace that the families want.
#include "toolkit/engine/cuda/workspace.h"

#include "toolkit/engine/cuda/channels.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
// Of fewer elements, one block makes the result sooner than several and a
// second launch.
constexpr int64_t kSplitElements = int64_t{1} << 16;

size_t statistic_bytes(const View& in) {
  return in.dtype == Dtype::kDouble ? 8 : 4;
}

} // namespace

size_t reduce_bytes(const View& in) {
  if (in.numel < kSplitElements)
    return 0;
  return std::min(4 * kMiB, static_cast<size_t>(in.numel) / 2);
}

// Two words of eight bytes and one of four for each piece, of which the
// shortest has 1,024 elements; and the pieces that rows begin with.
size_t cum_bytes(const View& in) {
  if (in.numel < kSplitElements / 8)
    return 0;
  return static_cast<size_t>(in.numel) / 512 * 20 + 64;
}

// A part for each two rows, as far as that is useful.
size_t layer_norm_backward_bytes(const View& in) {
  if (in.numel < kSplitElements / 8)
    return 0;
  return std::min(
      32 * kMiB,
      static_cast<size_t>(in.numel) * statistic_bytes(in));
}

// What the channels' elements are scaled by, and parts of their sums.
size_t batch_norm_bytes(const View& in) {
  if (in.numel < kSplitElements / 4)
    return 0;
  const size_t channels = static_cast<size_t>(channel_extents(in).channels);
  return channels * 64 + std::min(4 * kMiB, static_cast<size_t>(in.numel) / 2);
}

size_t nll_loss_bytes(const View& target) {
  return target.numel < kSplitElements / 4 ? 0 : size_t{1} << 14;
}

} // namespace musa_standin::engine::cuda
