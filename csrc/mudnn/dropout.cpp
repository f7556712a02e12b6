// SPDX-License-Identifier: Apache-2.0
// Dropout through muDNN.
#include "csrc/mudnn/dropout.h"

#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/tensor_view.h"

namespace torch_fl::mudnn {

namespace {

namespace dnn = ::musa::dnn;

// All operands are dense in one order, so the order does not matter.
dnn::Tensor flat(const at::Tensor& tensor) {
  dnn::Tensor made;
  const int64_t numel = tensor.numel();
  FL_MUDNN_CHECK(made.SetType(required_dnn_type(tensor.scalar_type())));
  FL_MUDNN_CHECK(made.SetAddr(tensor.unsafeGetTensorImpl()->data()));
  FL_MUDNN_CHECK(made.SetNdInfo(1, &numel));
  return made;
}

dnn::Tensor flat_output(const at::Tensor& tensor) {
  static_cast<void>(tensor.unsafeGetTensorImpl()->mutable_data());
  return flat(tensor);
}

} // namespace

bool can_drop(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

void dropout(
    const at::Tensor& out,
    const at::Tensor& mask,
    const at::Tensor& in,
    double p,
    const SequencePlace& place) {
  dnn::Tensor result = flat_output(out);
  dnn::Tensor kept = flat_output(mask);
  dnn::Dropout op;
  FL_MUDNN_CHECK(op.SetP(p));
  FL_MUDNN_CHECK(op.SetScale(1 / (1 - p)));
  if (C10_UNLIKELY(place.words != nullptr)) {
    FL_MUDNN_CHECK(op.SetSeed(place.words));
    FL_MUDNN_CHECK(op.SetOffset(place.words + 1, place.offset));
  } else {
    FL_MUDNN_CHECK(op.SetSeed(place.seed));
    FL_MUDNN_CHECK(op.SetOffset(place.offset));
  }
  FL_MUDNN_CHECK(op.RunDropout(plain_handle(), result, flat(in), kept));
}

void dropout_backward(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const at::Tensor& mask,
    double scale) {
  dnn::Tensor result = flat_output(grad_in);
  dnn::Dropout op;
  FL_MUDNN_CHECK(op.SetScale(scale));
  FL_MUDNN_CHECK(
      op.RunDropoutBwd(plain_handle(), result, flat(grad_out), flat(mask)));
}

} // namespace torch_fl::mudnn
