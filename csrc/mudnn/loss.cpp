// SPDX-License-Identifier: Apache-2.0
// Negative log likelihood through muDNN.
#include "csrc/mudnn/loss.h"

#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/tensor_view.h"
#include "csrc/mudnn/workspace.h"

namespace torch_fl::mudnn {

namespace {

namespace dnn = ::musa::dnn;

void configure(dnn::NLLLoss& op, const NllOptions& options) {
  using Mode = dnn::NLLLoss::Mode;
  FL_MUDNN_CHECK(op.SetReductionMode(
      options.reduction == 0       ? Mode::NONE
          : options.reduction == 1 ? Mode::MEAN
                                   : Mode::SUM));
  FL_MUDNN_CHECK(op.SetIgnoreIndex(options.ignore_index));
}

dnn::Tensor view_or_empty(const at::Tensor& tensor) {
  return tensor.defined() ? view(tensor) : dnn::Tensor();
}

} // namespace

bool can_nll(at::ScalarType type) {
  return type == at::kFloat;
}

void nll_loss(
    const at::Tensor& out,
    const at::Tensor& total_weight,
    const at::Tensor& in,
    const at::Tensor& target,
    const at::Tensor& weight,
    const NllOptions& options) {
  dnn::Tensor result = writable(out);
  dnn::Tensor total = writable(total_weight);
  dnn::NLLLoss op;
  configure(op, options);
  FL_MUDNN_CHECK(op.Run(
      plain_handle(),
      result,
      total,
      view(in),
      view(target),
      view_or_empty(weight),
      workspace()));
}

void nll_loss_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const at::Tensor& target,
    const at::Tensor& weight,
    const at::Tensor& total_weight,
    const NllOptions& options) {
  dnn::Tensor result = writable(grad_in);
  dnn::NLLLoss op;
  configure(op, options);
  FL_MUDNN_CHECK(op.RunBwd(
      plain_handle(),
      result,
      view(grad_out),
      view(target),
      view_or_empty(weight),
      view(total_weight),
      workspace()));
}

} // namespace torch_fl::mudnn
