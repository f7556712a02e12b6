// SPDX-License-Identifier: Apache-2.0
// Errors that kernels find: an index out of range, a planned failure.
#pragma once

#include "toolkit/include/driver_types.h"

#include <cstdint>

namespace musa_standin::engine {
class Stream;
}

namespace musa_standin::engine::cuda {

// One word of pinned memory a device, 0 while there is no error: the code above
// the task's address. The first kernel to write it wins; the next synchronising
// call takes it, and the device then has that error.
struct DeviceError {
  unsigned long long word;
};
constexpr int kErrorCodeShift = 48;

// The device's slot, made on first use.
DeviceError* error_slot(int device);

// The task's name as a kernel's argument; it lives as long as the process.
inline uint64_t task_address(const char* name) {
  return reinterpret_cast<uintptr_t>(name);
}

// Enqueues a failure: the device fails with this code, under the task's name,
// when the stream comes to this point.
void enqueue_failure(
    engine::Stream& stream,
    musaError_t code,
    const char* name);

#if defined(__CUDACC__)
__device__ inline void
report(DeviceError* slot, musaError_t code, uint64_t task) {
  const unsigned long long word =
      (static_cast<unsigned long long>(code) << kErrorCodeShift) | task;
  // Thousands of threads may find the same error: most only look.
  if (*static_cast<volatile unsigned long long*>(&slot->word) == 0) {
    atomicCAS(&slot->word, 0ULL, word);
  }
}
#endif

} // namespace musa_standin::engine::cuda
