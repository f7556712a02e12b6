// SPDX-License-Identifier: Apache-2.0
// Defaults of the engine's operator families: not supported.
#include "toolkit/engine/dnn.h"

#include "toolkit/engine/error.h"

namespace musa_standin::engine {

namespace {

[[noreturn]] void lacks(const char* family) {
  throw Error(
      musaErrorNotSupported,
      std::string("the engine has no ") + family);
}

} // namespace

size_t Dnn::workspace_bytes(Family /*family*/, const View& /*in*/) {
  return 0;
}

size_t Dnn::matmul_workspace_bytes(const MatmulArgs& /*args*/) {
  return 0;
}

size_t Dnn::dot_workspace_bytes(const View& /*left*/) {
  return 0;
}

size_t Dnn::convolution_workspace_bytes(
    Family /*family*/,
    const ConvolutionArgs& /*args*/) {
  return 0;
}

size_t Dnn::attention_workspace_bytes(const AttentionArgs& /*args*/) {
  return 0;
}

size_t Dnn::attention_workspace_bytes(const AttentionBackwardArgs& /*args*/) {
  return 0;
}

int Dnn::recommended_convolution(
    Family /*family*/,
    const ConvolutionArgs& /*args*/) {
  return 0;
}

void Dnn::fail(Stream& /*stream*/, musaError_t /*code*/, const char* name) {
  lacks(name);
}

void Dnn::unary(
    Stream& /*stream*/,
    UnaryMode /*mode*/,
    const View& /*out*/,
    const View& /*in*/,
    Scalar /*alpha*/,
    Scalar /*beta*/) {
  lacks("unary");
}

void Dnn::binary(
    Stream& /*stream*/,
    BinaryMode /*mode*/,
    const View& /*out*/,
    const View& /*left*/,
    const View& /*right*/,
    Scalar /*alpha*/) {
  lacks("binary");
}

void Dnn::ternary(
    Stream& /*stream*/,
    TernaryMode /*mode*/,
    const View& /*out*/,
    const View* /*inputs*/,
    Scalar /*alpha*/) {
  lacks("ternary");
}

void Dnn::reduce(Stream& /*stream*/, const ReduceArgs& /*args*/) {
  lacks("reduce");
}

void Dnn::fill(
    Stream& /*stream*/,
    const View& /*out*/,
    Scalar /*value*/,
    const View* /*mask*/) {
  lacks("fill");
}

void Dnn::copy(Stream& /*stream*/, const View& /*out*/, const View& /*in*/) {
  lacks("copy");
}

void Dnn::concat(
    Stream& /*stream*/,
    const View& /*out*/,
    int /*axis*/,
    int /*count*/,
    const View* /*inputs*/) {
  lacks("concat");
}

void Dnn::cum(
    Stream& /*stream*/,
    CumMode /*mode*/,
    const View& /*out*/,
    const View& /*in*/,
    int /*dim*/,
    Workspace /*workspace*/) {
  lacks("cum");
}

void Dnn::gather(
    Stream& /*stream*/,
    GatherMode /*mode*/,
    const View& /*out*/,
    const View& /*index*/,
    const View& /*in*/,
    int /*axis*/,
    int /*batch_dims*/) {
  lacks("gather");
}

void Dnn::scatter(
    Stream& /*stream*/,
    ScatterMode /*mode*/,
    const View& /*self*/,
    const View& /*index*/,
    const View& /*update*/,
    int /*dim*/) {
  lacks("scatter");
}

void Dnn::sort(Stream& /*stream*/, const SortArgs& /*args*/) {
  lacks("sort");
}

void Dnn::topk(Stream& /*stream*/, const TopkArgs& /*args*/) {
  lacks("topk");
}

int64_t Dnn::nonzero(
    Stream& /*stream*/,
    const View& /*out*/,
    const View& /*in*/,
    Workspace /*workspace*/) {
  lacks("nonzero");
}

int64_t Dnn::masked_select(
    Stream& /*stream*/,
    const View& /*out*/,
    const View& /*in*/,
    const View& /*mask*/,
    Workspace /*workspace*/) {
  lacks("masked_select");
}

void Dnn::matmul(Stream& /*stream*/, const MatmulArgs& /*args*/) {
  lacks("matmul");
}

void Dnn::dot(
    Stream& /*stream*/,
    const View& /*out*/,
    const View& /*left*/,
    const View& /*right*/,
    Workspace /*workspace*/) {
  lacks("dot");
}

void Dnn::convolution(Stream& /*stream*/, const ConvolutionArgs& /*args*/) {
  lacks("convolution");
}

void Dnn::convolution_backward_data(
    Stream& /*stream*/,
    const ConvolutionArgs& /*args*/) {
  lacks("convolution_backward_data");
}

void Dnn::convolution_backward_filter(
    Stream& /*stream*/,
    const ConvolutionArgs& /*args*/) {
  lacks("convolution_backward_filter");
}

void Dnn::softmax(
    Stream& /*stream*/,
    SoftmaxMode /*mode*/,
    const View& /*out*/,
    const View& /*in*/,
    int /*dim*/) {
  lacks("softmax");
}

void Dnn::softmax_backward(
    Stream& /*stream*/,
    SoftmaxMode /*mode*/,
    const View& /*grad_in*/,
    const View& /*out*/,
    const View& /*grad_out*/,
    int /*dim*/) {
  lacks("softmax_backward");
}

void Dnn::attention(Stream& /*stream*/, const AttentionArgs& /*args*/) {
  lacks("attention");
}

void Dnn::attention_backward(
    Stream& /*stream*/,
    const AttentionBackwardArgs& /*args*/) {
  lacks("attention_backward");
}

void Dnn::pooling(Stream& /*stream*/, const PoolingArgs& /*args*/) {
  lacks("pooling");
}

void Dnn::pooling_backward(Stream& /*stream*/, const PoolingArgs& /*args*/) {
  lacks("pooling_backward");
}

void Dnn::batch_norm_inference(
    Stream& /*stream*/,
    const BatchNormArgs& /*args*/) {
  lacks("batch_norm_inference");
}

void Dnn::batch_norm_training(
    Stream& /*stream*/,
    const BatchNormArgs& /*args*/) {
  lacks("batch_norm_training");
}

void Dnn::batch_norm_backward(
    Stream& /*stream*/,
    const BatchNormBackwardArgs& /*args*/) {
  lacks("batch_norm_backward");
}

void Dnn::layer_norm(Stream& /*stream*/, const LayerNormArgs& /*args*/) {
  lacks("layer_norm");
}

void Dnn::layer_norm_backward(
    Stream& /*stream*/,
    const LayerNormBackwardArgs& /*args*/) {
  lacks("layer_norm_backward");
}

void Dnn::nll_loss(Stream& /*stream*/, const NllLossArgs& /*args*/) {
  lacks("nll_loss");
}

void Dnn::nll_loss_backward(Stream& /*stream*/, const NllLossArgs& /*args*/) {
  lacks("nll_loss_backward");
}

void Dnn::dropout(Stream& /*stream*/, const DropoutArgs& /*args*/) {
  lacks("dropout");
}

void Dnn::dropout_backward(
    Stream& /*stream*/,
    const View& /*grad_in*/,
    const View& /*grad_out*/,
    const View& /*mask*/,
    double /*scale*/) {
  lacks("dropout_backward");
}

} // namespace musa_standin::engine
