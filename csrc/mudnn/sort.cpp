// SPDX-License-Identifier: Apache-2.0
// Sorting and selecting on muDNN, whose classes want dense operands.
#include "csrc/mudnn/sort.h"

#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/tensor_view.h"
#include "csrc/mudnn/workspace.h"

namespace torch_fl::mudnn {

void sort(
    const at::Tensor& values,
    const at::Tensor& indices,
    const at::Tensor& in,
    int64_t dim,
    bool descending) {
  ::musa::dnn::Tensor to = writable(values);
  ::musa::dnn::Tensor places = writable(indices);
  ::musa::dnn::Sort op;
  FL_MUDNN_CHECK(op.SetDim(static_cast<int>(dim)));
  FL_MUDNN_CHECK(op.SetDescending(descending));
  FL_MUDNN_CHECK(op.SetStable(true));
  FL_MUDNN_CHECK(op.Run(plain_handle(), to, places, view(in), workspace()));
}

bool selects(at::ScalarType type) {
  return c10::isFloatingType(type) || type == at::kInt;
}

void select(
    const at::Tensor& values,
    const at::Tensor& indices,
    const at::Tensor& in,
    const Selection& what) {
  ::musa::dnn::Tensor to = writable(values);
  ::musa::dnn::Tensor places = writable(indices);
  ::musa::dnn::TopK op;
  FL_MUDNN_CHECK(op.SetK(static_cast<int>(what.k)));
  FL_MUDNN_CHECK(op.SetDim(static_cast<int>(what.dim)));
  FL_MUDNN_CHECK(op.SetLargest(what.largest));
  FL_MUDNN_CHECK(op.SetSorted(what.sorted));
  FL_MUDNN_CHECK(op.Run(plain_handle(), to, places, view(in), workspace()));
}

} // namespace torch_fl::mudnn
