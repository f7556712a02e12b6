// SPDX-License-Identifier: Apache-2.0
// Kernels of clients: the toolkit's mcc makes them CUDA's, which need its
// handle.
#include "toolkit/engine/kernel.h"

#include "toolkit/engine/cuda/device_error.h"
#include "toolkit/engine/cuda/stream.h"

namespace musa_standin::engine::cuda {
namespace {

class CudaKernelEngine final : public KernelEngine {
 public:
  void* native_stream(engine::Stream& stream) override {
    return native(stream);
  }
  void* error_word(engine::Stream& stream) override {
    return &error_slot(stream.device())->word;
  }
};

} // namespace
} // namespace musa_standin::engine::cuda

namespace musa_standin::engine {

KernelEngine& kernel_engine() {
  static cuda::CudaKernelEngine instance;
  return instance;
}

} // namespace musa_standin::engine
