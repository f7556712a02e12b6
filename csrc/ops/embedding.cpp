// SPDX-License-Identifier: Apache-2.0
// Rows of a table: their gradient, summed in the order of sorted indices, and
// their norm.
#include "csrc/kernels/embedding.h"

#include "csrc/ops/index_picks.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/TensorUtils.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;

Tensor embedding_dense_backward(
    const Tensor& grad_output,
    const Tensor& indices,
    int64_t num_weights,
    int64_t padding_idx,
    bool scale_grad_by_freq) {
  const at::TensorArg grad_arg(grad_output, "grad", 1);
  const at::TensorArg indices_arg(indices, "indices", 1);
  at::checkScalarTypes(
      "embedding_backward",
      indices_arg,
      {at::kLong, at::kInt});
  check_same_device(grad_output, indices);
  if (!has_kernel_type(grad_output.scalar_type())) {
    return routing::ToCpuByName<
        Tensor(const Tensor&, const Tensor&, int64_t, int64_t, bool)>::
        call(
            "embedding_dense_backward",
            grad_output,
            indices,
            num_weights,
            padding_idx,
            scale_grad_by_freq);
  }
  const runtime::DeviceScope scope(grad_output.device());
  const int64_t width = grad_output.size(-1);
  Tensor out = make_dense({num_weights, width}, grad_output.scalar_type());
  out.zero_();
  if (indices.numel() == 0 || out.numel() == 0) {
    return out;
  }
  Fold fold;
  fold.keep = false;
  fold.mean = scale_grad_by_freq;
  fold.skipped = padding_idx < 0 ? -1 : padding_idx * width;
  fold_picks(
      picks_along(
          "embedding_dense_backward",
          out,
          0,
          indices.reshape({-1}),
          /*from_end=*/false),
      grad_output.reshape({indices.numel(), width}),
      fold);
  return out;
}

Tensor& embedding_renorm(
    Tensor& self,
    const Tensor& indices,
    double max_norm,
    double norm_type) {
  const at::TensorArg self_arg(self, "self", 1);
  const at::TensorArg indices_arg(indices, "indices", 2);
  at::checkDim("embedding_renorm_", self_arg, 2);
  at::checkScalarTypes("embedding_renorm_", indices_arg, {at::kLong, at::kInt});
  check_same_device(self, indices);
  const at::ScalarType type = self.scalar_type();
  if (!has_kernel_type(type) || !c10::isFloatingType(type)) {
    return routing::
        ToCpuByName<Tensor&(Tensor&, const Tensor&, double, double)>::call(
            "embedding_renorm_",
            self,
            indices,
            max_norm,
            norm_type);
  }
  if (indices.numel() == 0 || self.numel() == 0) {
    return self;
  }
  const runtime::DeviceScope scope(self.device());
  const Picks picks = picks_along(
      "embedding_renorm_",
      self,
      0,
      indices.reshape({-1}),
      /*from_end=*/false);
  const Sorted sorted = sorted_along(places_of(picks.by, at::kLong), 0);
  const int64_t n = indices.numel();
  const Tensor scale =
      make_dense({n}, type == at::kDouble ? at::kDouble : at::kFloat);
  FlRenorm v{};
  v.keys = sorted.values.unsafeGetTensorImpl()->data();
  v.keys_wide = 1;
  v.target = self.unsafeGetTensorImpl()->mutable_data();
  v.scale = scale.unsafeGetTensorImpl()->mutable_data();
  v.n = n;
  v.columns = self.size(1);
  v.stride = self.stride(1);
  v.max_norm = max_norm;
  v.norm_type = norm_type;
  FL_MUSA_CHECK(fl_embedding_renorm(kernel_type(type), &v, kernel_stream()));
  return self;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&embedding_dense_backward>("embedding_dense_backward");
  r.native<&embedding_renorm>("embedding_renorm_");
}

} // namespace

} // namespace torch_fl::ops
