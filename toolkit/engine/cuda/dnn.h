// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's operator families; each family's file defines its own.
#pragma once

#include "toolkit/engine/dnn.h"

namespace musa_standin::engine::cuda {

class CudaDnn final : public Dnn {
 public:
  // Not this namespace's class of the same name.
  using Stream = engine::Stream;

  size_t workspace_bytes(Family family, const View& in) override;
  void fail(Stream& stream, musaError_t code, const char* name) override;

  void unary(
      Stream& stream,
      UnaryMode mode,
      const View& out,
      const View& in,
      Scalar alpha,
      Scalar beta) override;
  void binary(
      Stream& stream,
      BinaryMode mode,
      const View& out,
      const View& left,
      const View& right,
      Scalar alpha) override;
  void ternary(
      Stream& stream,
      TernaryMode mode,
      const View& out,
      const View* inputs,
      Scalar alpha) override;
  void fill(Stream& stream, const View& out, Scalar value, const View* mask)
      override;
  void copy(Stream& stream, const View& out, const View& in) override;
  void concat(
      Stream& stream,
      const View& out,
      int axis,
      int count,
      const View* inputs) override;
  void dropout(Stream& stream, const DropoutArgs& args) override;
  void dropout_backward(
      Stream& stream,
      const View& grad_in,
      const View& grad_out,
      const View& mask,
      double scale) override;

  void reduce(Stream& stream, const ReduceArgs& args) override;
  void cum(
      Stream& stream,
      CumMode mode,
      const View& out,
      const View& in,
      int dim,
      Workspace workspace) override;
  void softmax(
      Stream& stream,
      SoftmaxMode mode,
      const View& out,
      const View& in,
      int dim) override;
  void softmax_backward(
      Stream& stream,
      SoftmaxMode mode,
      const View& grad_in,
      const View& out,
      const View& grad_out,
      int dim) override;
  void batch_norm_inference(Stream& stream, const BatchNormArgs& args) override;
  void batch_norm_training(Stream& stream, const BatchNormArgs& args) override;
  void batch_norm_backward(Stream& stream, const BatchNormBackwardArgs& args)
      override;
  void layer_norm(Stream& stream, const LayerNormArgs& args) override;
  void layer_norm_backward(Stream& stream, const LayerNormBackwardArgs& args)
      override;
  void nll_loss(Stream& stream, const NllLossArgs& args) override;
  void nll_loss_backward(Stream& stream, const NllLossArgs& args) override;

  size_t matmul_workspace_bytes(const MatmulArgs& args) override;
  void matmul(Stream& stream, const MatmulArgs& args) override;
  size_t dot_workspace_bytes(const View& left) override;
  void dot(
      Stream& stream,
      const View& out,
      const View& left,
      const View& right,
      Workspace workspace) override;
  size_t convolution_workspace_bytes(Family family, const ConvolutionArgs& args)
      override;
  int recommended_convolution(Family family, const ConvolutionArgs& args)
      override;
  void convolution(Stream& stream, const ConvolutionArgs& args) override;
  void convolution_backward_data(Stream& stream, const ConvolutionArgs& args)
      override;
  void convolution_backward_filter(Stream& stream, const ConvolutionArgs& args)
      override;

  size_t attention_workspace_bytes(const AttentionArgs& args) override;
  size_t attention_workspace_bytes(const AttentionBackwardArgs& args) override;
  void attention(Stream& stream, const AttentionArgs& args) override;
  void attention_backward(Stream& stream, const AttentionBackwardArgs& args)
      override;

  void gather(
      Stream& stream,
      GatherMode mode,
      const View& out,
      const View& index,
      const View& in,
      int axis,
      int batch_dims) override;
  void scatter(
      Stream& stream,
      ScatterMode mode,
      const View& self,
      const View& index,
      const View& update,
      int dim) override;

  void sort(Stream& stream, const SortArgs& args) override;
  void topk(Stream& stream, const TopkArgs& args) override;
  int64_t nonzero(
      Stream& stream,
      const View& out,
      const View& in,
      Workspace workspace) override;
  int64_t masked_select(
      Stream& stream,
      const View& out,
      const View& in,
      const View& mask,
      Workspace workspace) override;

  void pooling(Stream& stream, const PoolingArgs& args) override;
  void pooling_backward(Stream& stream, const PoolingArgs& args) override;
};

} // namespace musa_standin::engine::cuda
