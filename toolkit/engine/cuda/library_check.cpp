// SPDX-License-Identifier: Apache-2.0
// What a failed call of cuBLASLt or cuDNN becomes.
#include "toolkit/engine/cuda/library_check.h"

#include "toolkit/engine/cuda/check.h"

#include <cuda_runtime_api.h>

#include <string>

namespace musa_standin::engine::cuda {
namespace {

musaError_t code_of(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_NOT_INITIALIZED:
    return musaErrorInitializationError;
  case CUBLAS_STATUS_ALLOC_FAILED:
    return musaErrorMemoryAllocation;
  case CUBLAS_STATUS_INVALID_VALUE:
    return musaErrorInvalidValue;
  case CUBLAS_STATUS_ARCH_MISMATCH:
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return musaErrorNotSupported;
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return musaErrorLaunchFailure;
  default:
    return musaErrorUnknown;
  }
}

// cuDNN numbers its statuses in classes of a thousand.
musaError_t code_of(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    return musaErrorMemoryAllocation;
  switch (static_cast<int>(status) / 1000) {
  case 1:
    return musaErrorInitializationError;
  case 2:
    return musaErrorInvalidValue;
  case 3:
    return musaErrorNotSupported;
  case 5:
    return musaErrorLaunchFailure;
  default:
    return musaErrorUnknown;
  }
}

[[noreturn]] void raise_for(
    musaError_t code,
    const char* library,
    const char* name,
    const char* task) {
  // A kernel that failed earlier shows here first: its own error counts.
  const cudaError_t pending = cudaPeekAtLastError();
  if (code == musaErrorLaunchFailure && pending != cudaSuccess)
    raise(pending, task);
  const char* verb =
      code == musaErrorNotSupported ? " does not support this (" : " failed (";
  throw Error(
      code,
      std::string(task) + ": " + library + verb + name + ")",
      task);
}

} // namespace

void raise(cublasStatus_t status, const char* task) {
  raise_for(code_of(status), "cuBLASLt", cublasLtGetStatusName(status), task);
}

void raise(cudnnStatus_t status, const char* task) {
  raise_for(code_of(status), "cuDNN", cudnnGetErrorString(status), task);
}

} // namespace musa_standin::engine::cuda
