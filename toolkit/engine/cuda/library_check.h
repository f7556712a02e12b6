// SPDX-License-Identifier: Apache-2.0
// Statuses of cuBLASLt and cuDNN as the engine's exception.
#pragma once

#include <cublasLt.h>
#include <cudnn.h>

namespace musa_standin::engine::cuda {

// Throws Error: musaErrorNotSupported for what the library lacks. `task` lives
// as long as the process.
[[noreturn]] void raise(cublasStatus_t status, const char* task);
[[noreturn]] void raise(cudnnStatus_t status, const char* task);

inline void check(cublasStatus_t status, const char* task) {
  if (__builtin_expect(status != CUBLAS_STATUS_SUCCESS, 0))
    raise(status, task);
}

inline void check(cudnnStatus_t status, const char* task) {
  if (__builtin_expect(status != CUDNN_STATUS_SUCCESS, 0))
    raise(status, task);
}

} // namespace musa_standin::engine::cuda
