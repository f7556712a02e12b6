// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax through muDNN.
#include "csrc/mudnn/softmax.h"

#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/tensor_view.h"
#include "csrc/mudnn/workspace.h"

#include <ATen/ops/empty.h>

namespace torch_fl::mudnn {

namespace {

namespace dnn = ::musa::dnn;

void configure(dnn::Softmax& op, int64_t dim, int64_t rank, SoftmaxKind kind) {
  using Mode = dnn::Softmax::Mode;
  const int64_t positive = dim < 0 ? dim + (rank == 0 ? 1 : rank) : dim;
  FL_MUDNN_CHECK(op.SetMode(
      kind == SoftmaxKind::Softmax ? Mode::SOFTMAX : Mode::LOGSOFTMAX));
  FL_MUDNN_CHECK(op.SetAlgorithm(dnn::Softmax::Algorithm::ACCURATE));
  FL_MUDNN_CHECK(op.SetDim(static_cast<int>(positive)));
}

} // namespace

bool can_softmax(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

// Operands are dense for muDNN; a strided output gets a dense one first.
void softmax(
    const at::Tensor& out,
    const at::Tensor& in,
    int64_t dim,
    SoftmaxKind kind) {
  if (!out.is_contiguous()) {
    const at::Tensor dense = at::empty(out.sizes(), out.options());
    softmax(dense, in, dim, kind);
    out.copy_(dense);
    return;
  }
  const at::Tensor input = in.contiguous();
  dnn::Tensor result = writable(out);
  dnn::Softmax op;
  configure(op, dim, in.dim(), kind);
  FL_MUDNN_CHECK(op.Run(plain_handle(), result, view(input), workspace()));
}

void softmax_backward(
    const at::Tensor& grad_in,
    const at::Tensor& out,
    const at::Tensor& grad_out,
    int64_t dim,
    SoftmaxKind kind) {
  if (!grad_in.is_contiguous()) {
    const at::Tensor dense = at::empty(grad_in.sizes(), grad_in.options());
    softmax_backward(dense, out, grad_out, dim, kind);
    grad_in.copy_(dense);
    return;
  }
  const at::Tensor output = out.contiguous();
  const at::Tensor gradient = grad_out.contiguous();
  dnn::Tensor result = writable(grad_in);
  dnn::Softmax op;
  configure(op, dim, out.dim(), kind);
  FL_MUDNN_CHECK(op.RunBwd(
      plain_handle(),
      result,
      view(output),
      view(gradient),
      workspace()));
}

} // namespace torch_fl::mudnn
