// SPDX-License-Identifier: Apache-2.0
// median, nanmedian and mode: kernels of ours look at sorted rows.
#include "csrc/kernels/search.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/sort.h"
#include "csrc/ops/tensor_lists.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/max.h>
#include <ATen/ops/median_ops.h>
#include <ATen/ops/mode_ops.h>
#include <ATen/ops/nanmedian_ops.h>

#include <limits>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Tensor;

struct Placed {
  Tensor values;
  Tensor indices;
};

// Of each row along `dim`, which the results lack.
Placed medians(const Tensor& self, int64_t dim, bool skip_nan) {
  const SortedRows sorted = sorted_rows(self, dim);
  const at::IntArrayRef sizes = sorted.values.sizes();
  Placed made{
      make_dense(sizes.slice(0, sizes.size() - 1), self.scalar_type()),
      make_dense(sizes.slice(0, sizes.size() - 1), at::kLong)};
  const FlMedian median{
      made.values.unsafeGetTensorImpl()->mutable_data(),
      static_cast<int64_t*>(made.indices.unsafeGetTensorImpl()->mutable_data()),
      address_of(sorted.values),
      static_cast<const int64_t*>(address_of(sorted.indices)),
      sorted.rows,
      sorted.n,
      skip_nan ? 1 : 0};
  FL_MUSA_CHECK(
      fl_median(kernel_type(self.scalar_type()), &median, kernel_stream()));
  return made;
}

// The smallest of the elements that occur most often, at its last place.
Placed modes(const Tensor& self, int64_t dim) {
  const SortedRows sorted = sorted_rows(self, dim);
  const Tensor lengths = make_dense(sorted.values.sizes(), at::kLong);
  FL_MUSA_CHECK(fl_run_lengths(
      kernel_type(self.scalar_type()),
      lengths.unsafeGetTensorImpl()->mutable_data(),
      address_of(sorted.values),
      sorted.rows,
      sorted.n,
      kernel_stream()));
  const auto [length, first] = at::max(lengths, -1, /*keepdim=*/true);
  const Tensor last = first.add(length).sub_(1);
  return {
      at::gather(sorted.values, -1, first).squeeze(-1),
      at::gather(sorted.indices, -1, last).squeeze(-1)};
}

bool known(const Tensor& self) {
  return has_kernel_type(self.scalar_type()) && sorts(self.scalar_type());
}

template <class F>
std::tuple<Tensor&, Tensor&> along(
    const Tensor& self,
    int64_t dim,
    bool keepdim,
    Tensor& values,
    Tensor& indices,
    const F& f) {
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  const runtime::DeviceScope scope(self.device());
  resize_with_places(self, axis, keepdim, values, indices);
  if (self.dim() == 0) {
    values.copy_(self);
    indices.zero_();
  } else if (values.numel() != 0) {
    const Placed made = f(self, axis);
    values.copy_(keepdim ? made.values.unsqueeze(axis) : made.values);
    indices.copy_(keepdim ? made.indices.unsqueeze(axis) : made.indices);
  }
  return {values, indices};
}

template <bool skip_nan>
std::tuple<Tensor&, Tensor&> median_out(
    const Tensor& self,
    int64_t dim,
    bool keepdim,
    Tensor& values,
    Tensor& indices) {
  if (!known(self) || self.scalar_type() == at::kBool) {
    using Op = std::conditional_t<
        skip_nan,
        at::_ops::nanmedian_dim_values,
        at::_ops::median_dim_values>;
    return routing::to_cpu<Op>::call(self, dim, keepdim, values, indices);
  }
  return along(
      self,
      dim,
      keepdim,
      values,
      indices,
      [](const Tensor& x, int64_t axis) { return medians(x, axis, skip_nan); });
}

template <bool skip_nan>
Tensor median(const Tensor& self) {
  if (!known(self) || self.scalar_type() == at::kBool) {
    using Op =
        std::conditional_t<skip_nan, at::_ops::nanmedian, at::_ops::median>;
    return routing::to_cpu<Op>::call(self);
  }
  const runtime::DeviceScope scope(self.device());
  if (self.numel() == 0) {
    return at::full({}, std::numeric_limits<float>::quiet_NaN())
        .to(self.options());
  }
  return medians(self.reshape({-1}), 0, skip_nan).values;
}

std::tuple<Tensor&, Tensor&> mode_out(
    const Tensor& self,
    int64_t dim,
    bool keepdim,
    Tensor& values,
    Tensor& indices) {
  if (!known(self)) {
    return routing::to_cpu<at::_ops::mode_values>::call(
        self,
        dim,
        keepdim,
        values,
        indices);
  }
  return along(
      self,
      dim,
      keepdim,
      values,
      indices,
      [](const Tensor& x, int64_t axis) { return modes(x, axis); });
}

std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim, bool keepdim) {
  if (!known(self)) {
    return routing::to_cpu<at::_ops::mode>::call(self, dim, keepdim);
  }
  const runtime::DeviceScope scope(self.device());
  Tensor values = make_dense({0}, self.scalar_type());
  Tensor indices = make_dense({0}, at::kLong);
  mode_out(self, dim, keepdim, values, indices);
  return {std::move(values), std::move(indices)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&median<false>>("median");
  r.native<&median_out<false>>("median.dim_values");
  r.native<&median<true>>("nanmedian");
  r.native<&median_out<true>>("nanmedian.dim_values");
  r.native<&mode>("mode");
  r.native<&mode_out>("mode.values");
}

} // namespace

} // namespace torch_fl::ops
