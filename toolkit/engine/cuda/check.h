// SPDX-License-Identifier: Apache-2.0
// Results of CUDA calls as the engine's exception.
#pragma once

#include "toolkit/engine/error.h"

#include <cuda_runtime_api.h>

namespace musa_standin::engine::cuda {

// Throws Error with the mapped code and CUDA's name of it. An error that breaks
// a device becomes its sticky error: the thread's current one, or this one.
[[noreturn]] void raise(cudaError_t result);
[[noreturn]] void raise(cudaError_t result, int device);
// With the name of the operator whose call it was.
[[noreturn]] void raise(cudaError_t result, const char* task);

inline void check(cudaError_t result) {
  if (__builtin_expect(result != cudaSuccess, 0)) {
    raise(result);
  }
}

// For calls that go to a device without making it current.
inline void check(cudaError_t result, int device) {
  if (__builtin_expect(result != cudaSuccess, 0)) {
    raise(result, device);
  }
}

// For destructors and other places that cannot throw: forgets the error.
inline void ignore(cudaError_t result) noexcept {
  if (__builtin_expect(result != cudaSuccess, 0)) {
    (void)cudaGetLastError();
  }
}

// CUDA's number of each device: MUSA_VISIBLE_DEVICES may leave some out.
constexpr int kMaxDevices = 64;
extern int g_ordinals[kMaxDevices];

// Makes the device the calling thread's. CUDA's own record is asked, since
// others in the process may have switched it.
inline void use_device(int device) {
  int current = -1;
  if (__builtin_expect(
          cudaGetDevice(&current) != cudaSuccess ||
              current != g_ordinals[device],
          0)) {
    check(cudaSetDevice(g_ordinals[device]), device);
  }
}

} // namespace musa_standin::engine::cuda
