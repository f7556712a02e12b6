// SPDX-License-Identifier: Apache-2.0
// FLAGOS_BUILD_KERNELS=OFF: what muDNN's Pooling does not take is the CPU's.
#include "csrc/ops/pool.h"

#include <c10/util/Exception.h>

namespace torch_fl::ops {

using at::IntArrayRef;
using at::Tensor;

namespace {
[[noreturn]] void none() {
  TORCH_INTERNAL_ASSERT(false, "no device kernels are built");
}
} // namespace

bool kernel_pools_maximum(at::ScalarType /*type*/) {
  return false;
}
bool kernel_pools_average(at::ScalarType /*type*/) {
  return false;
}
bool kernel_pools_gradient(at::ScalarType /*type*/) {
  return false;
}

FlWindows adaptive_windows() {
  none();
}
FlWindows stepped_windows(
    int64_t /*spatial*/,
    IntArrayRef /*kernel*/,
    IntArrayRef /*stride*/,
    IntArrayRef /*padding*/,
    IntArrayRef /*dilation*/) {
  none();
}
FlWindows average_windows(
    int64_t /*spatial*/,
    IntArrayRef /*kernel*/,
    IntArrayRef /*stride*/,
    IntArrayRef /*padding*/,
    bool /*count_padding*/,
    std::optional<int64_t> /*divisor*/) {
  none();
}

void kernel_max_pool(
    const Tensor& /*out*/,
    const Tensor& /*indices*/,
    const Tensor& /*in*/,
    int64_t /*spatial*/,
    const FlWindows& /*windows*/) {
  none();
}
void kernel_max_pool_backward(
    const Tensor& /*grad_in*/,
    const Tensor& /*grad_out*/,
    const Tensor& /*indices*/,
    int64_t /*spatial*/,
    const FlWindows& /*windows*/) {
  none();
}
void kernel_average_pool(
    const Tensor& /*out*/,
    const Tensor& /*in*/,
    int64_t /*spatial*/,
    const FlWindows& /*windows*/) {
  none();
}
void kernel_average_pool_backward(
    const Tensor& /*grad_in*/,
    const Tensor& /*grad_out*/,
    int64_t /*spatial*/,
    const FlWindows& /*windows*/) {
  none();
}

} // namespace torch_fl::ops
