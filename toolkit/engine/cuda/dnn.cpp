// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's operator families: the one object, and planned failure.
#include "toolkit/engine/cuda/dnn.h"

#include "toolkit/engine/cuda/device_error.h"

namespace musa_standin::engine {

Dnn& dnn() {
  static cuda::CudaDnn instance;
  return instance;
}

namespace cuda {

void CudaDnn::fail(Stream& stream, musaError_t code, const char* name) {
  enqueue_failure(stream, code, name);
}

} // namespace cuda

} // namespace musa_standin::engine
