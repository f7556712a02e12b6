// SPDX-License-Identifier: Apache-2.0
// muDNN scaled dot product attention, in one pass without the weights.
#pragma once

#include "mudnn_base.h"
#include "mudnn_tensor.h"

namespace musa::dnn {
inline namespace portable_1 {

// out = softmax(scale * query * key^T + mask) * value, sizes [N, H, L, E] by
// any strides. Fewer heads of key and value are shared by groups of query's.
// Half and bfloat16; heads of up to 128, of (192, 128) and of (160, 160).
class MUDNN_EXPORT ScaledDotProductAttention : public ImplBase {
 public:
  using ComputeMode = dnn::ComputeMode;
  Status SetComputeMode(ComputeMode mode) {
    compute_mode_ = mode;
    return Status::SUCCESS;
  }
  // Query heads times the size of value's.
  Status SetEmbedDim(int size) {
    embed_dim_ = size;
    return Status::SUCCESS;
  }
  Status SetHeadsNum(int count) {
    heads_ = count;
    return Status::SUCCESS;
  }
  Status SetBatchSize(int count) {
    batch_ = count;
    return Status::SUCCESS;
  }
  // Whether a mask of rank 2 is [N, S] instead of [L, S].
  Status SetMaskMode(bool padding) {
    padding_mask_ = padding;
    return Status::SUCCESS;
  }
  // Position i sees keys up to i.
  Status SetCausal(bool causal) {
    causal_ = causal;
    return Status::SUCCESS;
  }
  Status SetTraining(bool training) {
    training_ = training;
    return Status::SUCCESS;
  }
  // 0: 1 / sqrt(E).
  Status SetScale(double scale) {
    scale_ = scale;
    return Status::SUCCESS;
  }
  Status SetIsDeterministic(bool deterministic) {
    deterministic_ = deterministic;
    return Status::SUCCESS;
  }

  // lse: FLOAT [N, H, L], the logarithm of each row's sum. mask: BOOL, true
  // where a key is seen, or added to the products; broadcasts; may be empty.
  // dropout_mask is empty: dropout is not here yet.
  Status RunFlash(
      Handle& handle,
      Tensor& out,
      Tensor& lse,
      const Tensor& query,
      const Tensor& key,
      const Tensor& value,
      const Tensor& mask,
      Tensor& dropout_mask,
      const MemoryMaintainer& maintainer = nullptr);
  // A grad_out with strides of 0 is refused. The mask has no gradient.
  Status RunFlashBwd(
      Handle& handle,
      Tensor& grad_query,
      Tensor& grad_key,
      Tensor& grad_value,
      const Tensor& grad_out,
      const Tensor& query,
      const Tensor& key,
      const Tensor& value,
      const Tensor& mask,
      const Tensor& out,
      const Tensor& lse,
      const Tensor& dropout_mask,
      const MemoryMaintainer& maintainer);

 private:
  friend struct Access;
  ComputeMode compute_mode_ = ComputeMode::TENSOR;
  int embed_dim_ = 0;
  int heads_ = 0;
  int batch_ = 0;
  bool padding_mask_ = false;
  bool causal_ = false;
  bool training_ = false;
  bool deterministic_ = false;
  double scale_ = 0;
};

} // namespace portable_1
} // namespace musa::dnn
