// SPDX-License-Identifier: Apache-2.0
// A thread's cuDNN: handle, and the convolutions and attentions that it has
// planned.
#pragma once

#include "toolkit/engine/cuda/attention_plan.h"
#include "toolkit/engine/cuda/content_cache.h"
#include "toolkit/engine/cuda/conv_problem.h"

#include <cudnn.h>

#include <cstdint>
#include <memory>

namespace musa_standin::engine::cuda {

class DnnContext {
 public:
  explicit DnnContext(int device);
  DnnContext(const DnnContext&) = delete;
  DnnContext& operator=(const DnnContext&) = delete;

  // Of the device's context, which the handle ends with.
  [[nodiscard]] uint64_t generation() const { return generation_; }
  // The handle, enqueueing on the stream from now on.
  cudnnHandle_t on(cudaStream_t stream);

  ConvProblem& convolution(const ConvKey& key);
  AttentionPlan& attention(const AttentionKey& key);

 private:
  uint64_t generation_;
  cudnnHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr; // a new handle's
  ContentCache<ConvKey, std::unique_ptr<ConvProblem>> convolutions_;
  ContentCache<AttentionKey, std::unique_ptr<AttentionPlan>> attentions_;
};

// The calling thread's for the device, which is made the thread's. A thread
// that ends leaves its own to the next one; none is ever destroyed, since CUDA
// may be down by then.
DnnContext& dnn_context(int device);

} // namespace musa_standin::engine::cuda
