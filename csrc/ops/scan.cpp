// SPDX-License-Identifier: Apache-2.0
// cummax, cummin and logcumsumexp, on kernels of ours.
#include "csrc/kernels/scan.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/tensor_lists.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_cummax_helper_ops.h>
#include <ATen/ops/_cummin_helper_ops.h>
#include <ATen/ops/_logcumsumexp_ops.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;

// A scan of row-major tensors, with its scratch.
struct Plan {
  FlScan scan{};
  Tensor scratch;

  Plan(const Tensor& self, int64_t dim) {
    const auto sizes = self.sizes();
    const auto axis = static_cast<size_t>(dim);
    scan.outer = c10::multiply_integers(sizes.begin(), sizes.begin() + dim);
    scan.n = sizes[axis];
    scan.inner = c10::multiply_integers(sizes.begin() + dim + 1, sizes.end());
    scratch = make_dense({fl_scan_bytes(scan)}, at::kByte);
    scan.scratch = scratch.unsafeGetTensorImpl()->mutable_data();
  }
};

Tensor row_major(const Tensor& out) {
  return out.is_contiguous() ? out : make_dense_like(out);
}

void deliver(const Tensor& out, const Tensor& made) {
  if (!made.is_same(out)) {
    copy_back(out, made);
  }
}

template <bool largest>
void running_extreme(
    const Tensor& self,
    Tensor& values,
    Tensor& indices,
    int64_t dim) {
  if (!has_kernel_type(self.scalar_type())) {
    using Op = std::conditional_t<
        largest,
        at::_ops::_cummax_helper,
        at::_ops::_cummin_helper>;
    routing::to_cpu<Op>::call(self, values, indices, dim);
    return;
  }
  if (self.numel() == 0) {
    return;
  }
  check_same_device(self, values);
  check_same_device(self, indices);
  const runtime::DeviceScope scope(self.device());
  if (self.dim() == 0) {
    values.copy_(self);
    indices.zero_();
    return;
  }
  const Tensor source = self.contiguous();
  const Tensor made = row_major(values);
  const Tensor places = row_major(indices);
  const Plan plan(source, at::maybe_wrap_dim(dim, self.dim()));
  FL_MUSA_CHECK(fl_running_extreme(
      kernel_type(self.scalar_type()),
      made.unsafeGetTensorImpl()->mutable_data(),
      static_cast<int64_t*>(places.unsafeGetTensorImpl()->mutable_data()),
      address_of(source),
      largest ? 1 : 0,
      &plan.scan,
      kernel_stream()));
  deliver(values, made);
  deliver(indices, places);
}

Tensor& logcumsumexp_out(const Tensor& self, int64_t dim, Tensor& out) {
  if (!c10::isFloatingType(self.scalar_type()) ||
      !has_kernel_type(self.scalar_type())) {
    return routing::to_cpu<at::_ops::_logcumsumexp_out>::call(self, dim, out);
  }
  check_out(out, self.scalar_type(), self);
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(out, self.sizes());
  if (self.numel() == 0) {
    return out;
  }
  if (self.dim() == 0) {
    return out.copy_(self);
  }
  const Tensor source = self.contiguous();
  // Chunks are read again after others were written.
  const bool direct = out.is_contiguous() && !out.is_alias_of(source);
  const Tensor made = direct ? out : make_dense_like(self);
  const Plan plan(source, at::maybe_wrap_dim(dim, self.dim()));
  FL_MUSA_CHECK(fl_logcumsumexp(
      kernel_type(self.scalar_type()),
      made.unsafeGetTensorImpl()->mutable_data(),
      address_of(source),
      &plan.scan,
      kernel_stream()));
  if (!direct) {
    out.copy_(made);
  }
  return out;
}

Tensor logcumsumexp(const Tensor& self, int64_t dim) {
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_strided({0}, {}, self.options());
  return logcumsumexp_out(self, dim, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&running_extreme<true>>("_cummax_helper");
  r.native<&running_extreme<false>>("_cummin_helper");
  r.native<&logcumsumexp>("_logcumsumexp");
  r.native<&logcumsumexp_out>("_logcumsumexp.out");
}

} // namespace

} // namespace torch_fl::ops
