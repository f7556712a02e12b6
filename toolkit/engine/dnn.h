// SPDX-License-Identifier: Apache-2.0
// Engine interface of the muDNN operator families.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include "toolkit/include/driver_types.h"

namespace musa_standin::engine {

class Stream;

// Which family asks for workspace.
enum class Family : uint8_t {
  kReduce,
  kCum,
  kScatter,
  kSort,
  kTopk,
  kNonzero,
  kMaskedSelect,
  kMatmul,
  kConvolution,
  kConvolutionBackwardData,
  kConvolutionBackwardFilter,
  kSoftmax,
  kSoftmaxBackward,
  kBatchNorm,
  kBatchNormBackward,
  kLayerNorm,
  kLayerNormBackward,
  kNllLoss,
  kNllLossBackward,
};

// Every function enqueues work on the stream and returns; arguments have been
// checked by the caller as far as engines have a rule in common. A function
// throws Error: musaErrorNotSupported for what the engine lacks (the default of
// each), others for a failed enqueue. Operands are device memory.
class Dnn {
 public:
  // Bytes of device memory that the family's call wants; 0 by default.
  virtual size_t workspace_bytes(Family family, const View& in);
  // The same for calls whose need depends on all operands.
  virtual size_t matmul_workspace_bytes(const MatmulArgs& args);
  virtual size_t dot_workspace_bytes(const View& left);
  virtual size_t convolution_workspace_bytes(
      Family family,
      const ConvolutionArgs& args);
  virtual size_t attention_workspace_bytes(const AttentionArgs& args);
  virtual size_t attention_workspace_bytes(const AttentionBackwardArgs& args);

  // The algorithm that is likely the fastest, 0 by default. Algorithm 0 gives
  // the same bits in every run.
  virtual int recommended_convolution(
      Family family,
      const ConvolutionArgs& args);

  // The stream fails with this error, under the operator's name, when it
  // comes to this point.
  virtual void fail(Stream& stream, musaError_t code, const char* name);

  // Operands have equal dims and any strides ≥ 0; inputs may repeat elements.
  // Types: out and in equal, except that comparisons write BOOL, kCast
  // converts, and true division of integers writes FLOAT.
  virtual void unary(
      Stream& stream,
      UnaryMode mode,
      const View& out,
      const View& in,
      Scalar alpha,
      Scalar beta);
  // As unary. Floating operands may have different floating types.
  virtual void binary(
      Stream& stream,
      BinaryMode mode,
      const View& out,
      const View& left,
      const View& right,
      Scalar alpha);
  // inputs: three. Select: a BOOL condition first.
  virtual void ternary(
      Stream& stream,
      TernaryMode mode,
      const View& out,
      const View* inputs,
      Scalar alpha);
  // Honours in's strides; out and indices are dense.
  virtual void reduce(Stream& stream, const ReduceArgs& args);
  // mask: BOOL of out's sizes, or null.
  virtual void
  fill(Stream& stream, const View& out, Scalar value, const View* mask);
  // Copies elements of one type between equal dims by strides.
  virtual void copy(Stream& stream, const View& out, const View& in);
  // Dense operands.
  virtual void concat(
      Stream& stream,
      const View& out,
      int axis,
      int count,
      const View* inputs);
  virtual void cum(
      Stream& stream,
      CumMode mode,
      const View& out,
      const View& in,
      int dim,
      Workspace workspace);
  // Dense operands; index INT32 or INT64. An index out of range is an error of
  // the stream.
  virtual void gather(
      Stream& stream,
      GatherMode mode,
      const View& out,
      const View& index,
      const View& in,
      int axis,
      int batch_dims);
  virtual void scatter(
      Stream& stream,
      ScatterMode mode,
      const View& self,
      const View& index,
      const View& update,
      int dim);
  virtual void sort(Stream& stream, const SortArgs& args);
  virtual void topk(Stream& stream, const TopkArgs& args);
  // These two wait for the stream and return the count. out has room for
  // in.numel rows or elements.
  virtual int64_t
  nonzero(Stream& stream, const View& out, const View& in, Workspace workspace);
  virtual int64_t masked_select(
      Stream& stream,
      const View& out,
      const View& in,
      const View& mask,
      Workspace workspace);

  virtual void matmul(Stream& stream, const MatmulArgs& args);
  virtual void dot(
      Stream& stream,
      const View& out,
      const View& left,
      const View& right,
      Workspace workspace);
  virtual void convolution(Stream& stream, const ConvolutionArgs& args);
  virtual void convolution_backward_data(
      Stream& stream,
      const ConvolutionArgs& args);
  virtual void convolution_backward_filter(
      Stream& stream,
      const ConvolutionArgs& args);
  virtual void softmax(
      Stream& stream,
      SoftmaxMode mode,
      const View& out,
      const View& in,
      int dim);
  virtual void softmax_backward(
      Stream& stream,
      SoftmaxMode mode,
      const View& grad_in,
      const View& out,
      const View& grad_out,
      int dim);
  virtual void attention(Stream& stream, const AttentionArgs& args);
  virtual void attention_backward(
      Stream& stream,
      const AttentionBackwardArgs& args);
  virtual void pooling(Stream& stream, const PoolingArgs& args);
  virtual void pooling_backward(Stream& stream, const PoolingArgs& args);
  virtual void batch_norm_inference(Stream& stream, const BatchNormArgs& args);
  virtual void batch_norm_training(Stream& stream, const BatchNormArgs& args);
  virtual void batch_norm_backward(
      Stream& stream,
      const BatchNormBackwardArgs& args);
  virtual void layer_norm(Stream& stream, const LayerNormArgs& args);
  virtual void layer_norm_backward(
      Stream& stream,
      const LayerNormBackwardArgs& args);
  virtual void nll_loss(Stream& stream, const NllLossArgs& args);
  virtual void nll_loss_backward(Stream& stream, const NllLossArgs& args);
  virtual void dropout(Stream& stream, const DropoutArgs& args);
  virtual void dropout_backward(
      Stream& stream,
      const View& grad_in,
      const View& grad_out,
      const View& mask,
      double scale);

 protected:
  Dnn() = default;
  Dnn(const Dnn&) = default;
  Dnn& operator=(const Dnn&) = default;
  ~Dnn() = default;
};

// The loaded engine's.
__attribute__((visibility("default"))) Dnn& dnn();

} // namespace musa_standin::engine
