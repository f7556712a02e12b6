// SPDX-License-Identifier: Apache-2.0
// What a failed CUDA call leaves behind.
#include "toolkit/engine/cuda/check.h"

#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/error_map.h"

#include <string>

namespace musa_standin::engine::cuda {

void raise(cudaError_t result, const char* task) {
  // CUDA keeps it for the thread; whoever asks CUDA next is not to find it.
  (void)cudaGetLastError();
  const musaError_t code = musa_error(result);
  std::string what = task != nullptr ? std::string(task) + ": " : std::string();
  what += error_text(code);
  what += std::string(" (") + cudaGetErrorName(result) + ")";
  if (is_sticky(code)) {
    Device* at = current_device_if_started();
    if (at != nullptr) {
      at->keep_error(code, what.c_str(), task != nullptr ? task : "");
    }
  }
  throw Error(code, what, task);
}

} // namespace musa_standin::engine::cuda
