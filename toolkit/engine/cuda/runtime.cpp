// SPDX-License-Identifier: Apache-2.0
// The engine interface on top of CUDA's runtime.
#include "toolkit/engine/runtime.h"

#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/start.h"

namespace musa_standin::engine {
namespace cuda {
namespace {

class CudaRuntime final : public Runtime {
 public:
  const char* engine_name() const noexcept override { return "cuda"; }
  void stop() noexcept override { stop_engine(); }
  int device_count() override { return cuda::device_count(); }
  void initialize(int index) override { device(index); }
  musaError_t sticky_error(int index) noexcept override {
    const Device* at = device_if_started(index);
    return at != nullptr ? at->sticky() : musaSuccess;
  }
  const char* failed_task(int index) noexcept override {
    Device* at = device_if_started(index);
    return at != nullptr ? at->failed_task() : "";
  }
};

} // namespace
} // namespace cuda

Runtime& runtime() {
  static auto* const instance = new cuda::CudaRuntime;
  return *instance;
}

} // namespace musa_standin::engine
