// SPDX-License-Identifier: Apache-2.0
// What a failed CUDA call leaves behind.
#include "toolkit/engine/cuda/check.h"

#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/error_map.h"

#include <string>

namespace musa_standin::engine::cuda {

namespace {

[[noreturn]] void raise(cudaError_t result, Device* at, const char* task) {
  // CUDA keeps it for the thread; whoever asks CUDA next is not to find it.
  (void)cudaGetLastError();
  const musaError_t code = musa_error(result);
  const std::string what =
      std::string(error_text(code)) + " (" + cudaGetErrorName(result) + ")";
  if (at != nullptr && is_sticky(code)) {
    at->keep_error(code, what.c_str(), task != nullptr ? task : "");
  }
  throw Error(
      code,
      task != nullptr ? std::string(task) + ": " + what : what,
      task);
}

} // namespace

void raise(cudaError_t result) {
  raise(result, current_device_if_started(), nullptr);
}

void raise(cudaError_t result, int device) {
  raise(result, device_if_started(device), nullptr);
}

void raise(cudaError_t result, const char* task) {
  raise(result, current_device_if_started(), task);
}

} // namespace musa_standin::engine::cuda
