// SPDX-License-Identifier: Apache-2.0
// Gradient scaling on kernels of ours: neither gradients nor the scale leave
// the device.
#include "csrc/kernels/optimizer.h"

#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/tensor_lists.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <vector>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using at::TensorList;

// Gradients of several dtypes and devices may come together; those with gaps
// go through a dense copy.
void unscale(
    TensorList scaled_grads,
    Tensor& found_inf,
    const Tensor& inv_scale) {
  constexpr const char* kOp = "_amp_foreach_non_finite_check_and_unscale_";
  if (scaled_grads.empty()) {
    return;
  }
  const at::Device device = scaled_grads[0].device();
  const float* const flag = flag_of(kOp, "found_inf", found_inf, device);
  const float* const factor = flag_of(kOp, "inv_scale", inv_scale, device);
  const runtime::DeviceScope scope(device);
  std::vector<Tensor> dense;
  dense.reserve(scaled_grads.size());
  for (const Tensor& grad : scaled_grads) {
    TORCH_CHECK(
        grad.device() == device && at::isFloatingType(grad.scalar_type()) &&
            grad.layout() == at::kStrided,
        kOp,
        ": gradients must be strided floating tensors on ",
        device);
    dense.push_back(
        grad.is_non_overlapping_and_dense() ? grad : grad.contiguous());
  }
  for (size_t begin = 0; begin < dense.size();) {
    const at::ScalarType type = dense[begin].scalar_type();
    size_t end = begin + 1;
    while (end < dense.size() && dense[end].scalar_type() == type) {
      ++end;
    }
    by_portions(
        {TensorList(dense).slice(begin, end - begin)},
        [&](const FlTensors& lists, size_t /*first*/) {
          FL_MUSA_CHECK(fl_unscale(
              kernel_type(type),
              &lists,
              const_cast<float*>(flag),
              factor,
              kernel_stream()));
        });
    begin = end;
  }
  for (size_t t = 0; t < dense.size(); ++t) {
    if (!dense[t].is_same(scaled_grads[t])) {
      scaled_grads[t].copy_(dense[t]);
    }
  }
}

Tensor& update_scale(
    Tensor& self,
    Tensor& growth_tracker,
    const Tensor& found_inf,
    double growth,
    double backoff,
    int64_t interval) {
  constexpr const char* kOp = "_amp_update_scale_";
  const at::Device device = self.device();
  TORCH_CHECK(
      growth_tracker.device() == device &&
          growth_tracker.scalar_type() == at::kInt &&
          growth_tracker.numel() == 1,
      kOp,
      ": growth_tracker must be one int32 on ",
      device);
  const runtime::DeviceScope scope(device);
  FL_MUSA_CHECK(fl_update_scale(
      const_cast<float*>(flag_of(kOp, "the scale", self, device)),
      static_cast<int32_t*>(
          growth_tracker.unsafeGetTensorImpl()->mutable_data()),
      flag_of(kOp, "found_inf", found_inf, device),
      growth,
      backoff,
      static_cast<int32_t>(interval),
      kernel_stream()));
  return self;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&unscale>("_amp_foreach_non_finite_check_and_unscale_");
  r.native<&update_scale>("_amp_update_scale_");
}

} // namespace

} // namespace torch_fl::ops
