// SPDX-License-Identifier: Apache-2.0
// The planned failure.
#include "toolkit/engine/cuda/device_error.h"

#include "toolkit/engine/cuda/launch.h"

namespace musa_standin::engine::cuda {
namespace {

__global__ void
fail_kernel(DeviceError* slot, musaError_t code, uint64_t task) {
  report(slot, code, task);
}

} // namespace

void enqueue_failure(
    engine::Stream& stream,
    musaError_t code,
    const char* name) {
  launch(
      stream,
      fail_kernel,
      1,
      1,
      0,
      error_slot(stream.device()),
      code,
      task_address(name));
}

} // namespace musa_standin::engine::cuda
