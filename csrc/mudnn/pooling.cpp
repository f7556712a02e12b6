// SPDX-License-Identifier: Apache-2.0
// Maximum, average and adaptive pooling through muDNN.
#include "csrc/mudnn/pooling.h"

#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/image.h"
#include "csrc/mudnn/workspace.h"

namespace torch_fl::mudnn {

namespace {

namespace dnn = ::musa::dnn;
using Mode = dnn::Pooling::Mode;

void configure(dnn::Pooling& op, Mode mode, const Window& window) {
  FL_MUDNN_CHECK(op.SetMode(mode));
  FL_MUDNN_CHECK(op.SetNdInfo(
      2,
      window.kernel.data(),
      window.padding.data(),
      window.stride.data(),
      window.dilation.data()));
}

void run(
    dnn::Pooling& op,
    const at::Tensor& out,
    const at::Tensor& in,
    dnn::Tensor& indices,
    at::MemoryFormat layout) {
  dnn::Tensor result;
  dnn::Tensor image;
  describe_image_output(result, out, layout);
  describe_image(image, in, layout);
  FL_MUDNN_CHECK(op.Run(plain_handle(), result, image, indices));
}

void run_backward(
    dnn::Pooling& op,
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const dnn::Tensor& indices,
    at::MemoryFormat layout) {
  dnn::Tensor result;
  dnn::Tensor gradient;
  describe_image_output(result, grad_in, layout);
  describe_image(gradient, grad_out, layout);
  FL_MUDNN_CHECK(op.RunBwd(plain_handle(), result, gradient, indices));
}

void configure(dnn::Pooling& op, const Average& average) {
  configure(
      op,
      average.count_padding ? Mode::AVGPOOL_COUNT_PAD
                            : Mode::AVGPOOL_COUNT_WITHOUT_PAD,
      average.window);
  if (average.divisor != 0) {
    FL_MUDNN_CHECK(op.SetDivisor(average.divisor));
  }
}

} // namespace

bool can_pool(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

bool can_average_backward(at::ScalarType type) {
  return type == at::kFloat;
}

// Both passes get an index buffer: without one the backward pass fails (62).
void max_pool(
    const at::Tensor& out,
    const at::Tensor& indices,
    const at::Tensor& in,
    const Window& window,
    at::MemoryFormat layout) {
  dnn::Tensor positions;
  describe_image_output(positions, indices, layout);
  dnn::Pooling op;
  configure(op, Mode::MAXPOOL, window);
  run(op, out, in, positions, layout);
}

void max_pool_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const at::Tensor& indices,
    const Window& window,
    at::MemoryFormat layout) {
  dnn::Tensor positions;
  describe_image(positions, indices, layout);
  dnn::Pooling op;
  configure(op, Mode::MAXPOOL, window);
  run_backward(op, grad_in, grad_out, positions, layout);
}

void max_unpool(
    const at::Tensor& out,
    const at::Tensor& in,
    const at::Tensor& indices,
    int64_t planes) {
  dnn::Tensor result = writable(out);
  dnn::Tensor updates = view(in);
  dnn::Tensor positions = view(indices);
  FL_MUDNN_CHECK(result.SetNdInfo({planes, out.numel() / planes}));
  FL_MUDNN_CHECK(updates.SetNdInfo({planes, in.numel() / planes}));
  FL_MUDNN_CHECK(positions.SetNdInfo({planes, in.numel() / planes}));
  dnn::Scatter op;
  FL_MUDNN_CHECK(op.SetMode(dnn::Scatter::Mode::UPDATE_ONLY));
  FL_MUDNN_CHECK(
      op.Run(plain_handle(), result, positions, updates, 1, workspace()));
}

void average_pool(
    const at::Tensor& out,
    const at::Tensor& in,
    const Average& average,
    at::MemoryFormat layout) {
  dnn::Tensor none;
  dnn::Pooling op;
  configure(op, average);
  run(op, out, in, none, layout);
}

void average_pool_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const Average& average,
    at::MemoryFormat layout) {
  dnn::Pooling op;
  configure(op, average);
  run_backward(op, grad_in, grad_out, dnn::Tensor(), layout);
}

void adaptive_max_pool(
    const at::Tensor& out,
    const at::Tensor& indices,
    const at::Tensor& in,
    at::MemoryFormat layout) {
  dnn::Tensor positions;
  describe_image_output(positions, indices, layout);
  dnn::Pooling op;
  configure(op, Mode::ADAPTIVE_MAXPOOL, Window());
  run(op, out, in, positions, layout);
}

void adaptive_max_pool_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const at::Tensor& indices,
    at::MemoryFormat layout) {
  dnn::Tensor positions;
  describe_image(positions, indices, layout);
  dnn::Pooling op;
  configure(op, Mode::ADAPTIVE_MAXPOOL, Window());
  run_backward(op, grad_in, grad_out, positions, layout);
}

void adaptive_average_pool(
    const at::Tensor& out,
    const at::Tensor& in,
    at::MemoryFormat layout) {
  dnn::Tensor none;
  dnn::Pooling op;
  configure(op, Mode::ADAPTIVE_AVGPOOL, Window());
  run(op, out, in, none, layout);
}

void adaptive_average_pool_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    at::MemoryFormat layout) {
  dnn::Pooling op;
  configure(op, Mode::ADAPTIVE_AVGPOOL, Window());
  run_backward(op, grad_in, grad_out, dnn::Tensor(), layout);
}

} // namespace torch_fl::mudnn
