// SPDX-License-Identifier: Apache-2.0
// Attention in cuDNN's graph API: what a plan depends on, and the plan.
#pragma once

#include "toolkit/engine/cuda/conv_problem.h"

#include <cudnn.h>

#include <cstddef>
#include <cstdint>

namespace musa_standin::engine::cuda {

constexpr int kAttentionRank = 4;

// Operands of both passes, as the graphs and their variant packs name them.
enum AttentionOperand : int {
  kQuery = 1, // cuDNN counts from 1
  kKey,
  kValue,
  kOut,
  kStats,
  kBias,
  kScale,
  kHidden, // what stands in place of a score that is not seen
  kOne,
  kGradOut,
  kGradQuery,
  kGradKey,
  kGradValue,
  kDeltas,    // of the workspace: row sums of out times its gradient
  kQuerySums, // of the workspace: query's gradient in float
  kAttentionOperands
};

// Compared byte by byte, so without padding; strides of [N, H, L, E] in
// elements. What a pass has not is 0.
struct AttentionKey {
  int32_t backward;
  int32_t dtype; // of engine::Dtype
  int32_t causal;
  int32_t deterministic;
  int32_t bias_batches; // 0: no bias
  int32_t bias_heads;
  int64_t batch;
  int64_t heads;
  int64_t groups;
  int64_t rows;
  int64_t keys;
  int64_t width;
  int64_t depth;
  int64_t scale_bits; // of the double
  int64_t query[kAttentionRank];
  int64_t key[kAttentionRank];
  int64_t value[kAttentionRank];
  int64_t out[kAttentionRank];
  int64_t bias[kAttentionRank];
  int64_t grad_out[kAttentionRank];
  int64_t grad_query[kAttentionRank];
  int64_t grad_key[kAttentionRank];
  int64_t grad_value[kAttentionRank];
};

// For the thread that has the handle.
class AttentionPlan {
 public:
  // Where cuDNN has no way for the key, works() is false.
  AttentionPlan(cudnnHandle_t handle, const AttentionKey& key);

  [[nodiscard]] bool works() const { return plan_.get() != nullptr; }
  [[nodiscard]] size_t workspace_bytes() const { return workspace_bytes_; }
  // Whether query's gradient is summed up in a float tensor beside it.
  [[nodiscard]] bool sums_query() const { return sums_query_; }

  // Enqueues on the handle's stream. Null for operands that the pass has not.
  void run(
      cudnnHandle_t handle,
      void* const (&operands)[kAttentionOperands],
      void* workspace);

 private:
  void pack(void* const (&operands)[kAttentionOperands], void* workspace);

  CudnnDescriptor plan_;
  size_t workspace_bytes_ = 0;
  bool sums_query_ = false;
  float scale_ = 1;
  float hidden_ = 0;
  float one_ = 1;
  bool present_[kAttentionOperands] = {};
  // The last call's addresses.
  CudnnDescriptor pack_;
  void* packed_[kAttentionOperands] = {};
  void* packed_workspace_ = nullptr;
};

} // namespace musa_standin::engine::cuda
