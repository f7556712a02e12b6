// SPDX-License-Identifier: Apache-2.0
// cuDNN handles: one for each thread and device, handed on when a thread ends.
#include "toolkit/engine/cuda/dnn_context.h"

#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/library_check.h"

#include <mutex>
#include <vector>

namespace musa_standin::engine::cuda {
namespace {

constexpr const char* kTask = "Convolution";

// Contexts without a thread, by device.
struct Pool {
  std::mutex mutex;
  std::vector<DnnContext*> free[kMaxDevices];
};

Pool& pool() {
  static auto* const instance = new Pool;
  return *instance;
}

// What a thread holds.
class Leases {
 public:
  Leases() = default;
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;
  ~Leases() {
    Pool& p = pool();
    const std::lock_guard<std::mutex> lock(p.mutex);
    for (int i = 0; i < kMaxDevices; ++i) {
      if (contexts_[i] != nullptr)
        p.free[i].push_back(contexts_[i]);
    }
  }
  DnnContext& get(int device) {
    DnnContext*& context = contexts_[device];
    const uint64_t now = cuda::device(device).generation();
    if (__builtin_expect(
            context == nullptr || context->generation() != now,
            0)) {
      context = nullptr;
      context = take(device, now);
    }
    return *context;
  }

 private:
  static DnnContext* take(int device, uint64_t generation) {
    Pool& p = pool();
    {
      const std::lock_guard<std::mutex> lock(p.mutex);
      auto& free = p.free[device];
      while (!free.empty()) {
        DnnContext* last = free.back();
        free.pop_back();
        if (last->generation() == generation)
          return last;
      }
    }
    return new DnnContext(device);
  }
  DnnContext* contexts_[kMaxDevices] = {};
};

} // namespace

DnnContext::DnnContext(int device)
    : generation_(cuda::device(device).generation()) {
  check(cudnnCreate(&handle_), kTask);
}

cudnnHandle_t DnnContext::on(cudaStream_t stream) {
  if (stream != stream_) {
    check(cudnnSetStream(handle_, stream), kTask);
    stream_ = stream;
  }
  return handle_;
}

ConvProblem& DnnContext::convolution(const ConvKey& key) {
  if (auto* known = convolutions_.find(key))
    return **known;
  return *convolutions_.insert(
      key,
      std::make_unique<ConvProblem>(handle_, key));
}

AttentionPlan& DnnContext::attention(const AttentionKey& key) {
  if (auto* known = attentions_.find(key))
    return **known;
  return *attentions_.insert(
      key,
      std::make_unique<AttentionPlan>(handle_, key));
}

DnnContext& dnn_context(int device) {
  use_device(device);
  thread_local Leases leases;
  return leases.get(device);
}

} // namespace musa_standin::engine::cuda
