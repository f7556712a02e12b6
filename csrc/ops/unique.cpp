// SPDX-License-Identifier: Apache-2.0
// The unique family: sorted, equal neighbours grouped by kernels of ours. The
// number of groups is read from the device.
#include "csrc/kernels/sort_groups.h"
#include "csrc/mudnn/sequence.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/sort.h"
#include "csrc/ops/tensor_lists.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/_unique2_ops.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/unique_consecutive_ops.h>
#include <ATen/ops/unique_dim_consecutive_ops.h>
#include <ATen/ops/unique_dim_ops.h>

#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

bool known(const Tensor& self) {
  return has_kernel_type(self.scalar_type()) && sorts(self.scalar_type());
}

int64_t* places_of(const Tensor& tensor) {
  return static_cast<int64_t*>(tensor.unsafeGetTensorImpl()->mutable_data());
}

struct Wanted {
  bool inverse;
  bool counts;
};

struct Grouped {
  Tensor first;   // where each group begins in the order
  Tensor inverse; // [n], or [0]
  Tensor counts;  // [groups], or [0]
};

const int64_t* places_or_null(const Tensor& tensor) {
  return tensor.defined() ? places_of(tensor) : nullptr;
}

// Groups of equal neighbours among n > 0 rows of `columns` elements, row-major.
// `order` says which row comes when, `origin` where the inverse puts what came
// when; undefined: as they are.
Grouped group(
    const Tensor& rows,
    const Tensor& order,
    const Tensor& origin,
    int64_t n,
    int64_t columns,
    Wanted wanted) {
  const Tensor ids = make_dense({n}, at::kLong);
  FL_MUSA_CHECK(fl_group_starts(
      kernel_type(rows.scalar_type()),
      places_of(ids),
      address_of(rows),
      places_or_null(order),
      n,
      columns,
      kernel_stream()));
  const Tensor flags = ids.clone();
  mudnn::cumulate(ids, flags, 0, /*product=*/false);
  const auto groups = ids.select(0, n - 1).item<int64_t>();
  Grouped made{
      make_dense({groups}, at::kLong),
      make_dense({wanted.inverse ? n : 0}, at::kLong),
      make_dense({wanted.counts ? groups : 0}, at::kLong)};
  const FlGroups job{
      places_of(ids),
      places_or_null(origin),
      places_of(made.first),
      wanted.inverse ? places_of(made.inverse) : nullptr,
      n};
  FL_MUSA_CHECK(fl_groups(&job, kernel_stream()));
  if (wanted.counts) {
    FL_MUSA_CHECK(fl_group_counts(
        places_of(made.counts),
        places_of(made.first),
        groups,
        n,
        kernel_stream()));
  }
  return made;
}

// Of the flattened tensor.
Three unique_flat(const Tensor& self, bool sort, Wanted wanted) {
  const runtime::DeviceScope scope(self.device());
  const int64_t n = self.numel();
  if (n == 0) {
    return {
        make_dense({0}, self.scalar_type()),
        wanted.inverse ? make_dense(self.sizes(), at::kLong)
                       : make_dense({0}, at::kLong),
        make_dense({0}, at::kLong)};
  }
  const Tensor flat = self.reshape({-1});
  const Sorted sorted =
      sort ? sorted_along(flat, 0) : Sorted{flat.contiguous(), Tensor()};
  Grouped made = group(sorted.values, Tensor(), sorted.indices, n, 1, wanted);
  if (wanted.inverse) {
    made.inverse = made.inverse.view(self.sizes());
  }
  return {
      at::index_select(sorted.values, 0, made.first),
      std::move(made.inverse),
      std::move(made.counts)};
}

// Numbers of rows in the order of their first differing elements.
Tensor order_of_rows(const Tensor& rows, int64_t n, int64_t columns) {
  Tensor order;
  for (int64_t width = 1; width < n || !order.defined(); width *= 2) {
    Tensor next = make_dense({n}, at::kLong);
    const FlRowMerge merge{
        places_of(next),
        places_or_null(order),
        address_of(rows),
        n,
        columns,
        width};
    FL_MUSA_CHECK(
        fl_row_merge(kernel_type(rows.scalar_type()), &merge, kernel_stream()));
    order = std::move(next);
  }
  return order;
}

Three unique_slices(const Tensor& self, int64_t dim, bool sort, Wanted wanted) {
  const runtime::DeviceScope scope(self.device());
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  int64_t zeros = 0;
  for (const int64_t size : self.sizes()) {
    zeros += size == 0 ? 1 : 0;
  }
  if (self.dim() == 0) {
    const Tensor one = self.reshape({1});
    return unique_slices(one, 0, sort, wanted);
  }
  const int64_t n = self.size(axis);
  if (n == 0) {
    TORCH_CHECK(
        zeros == 1,
        "Number of zero sized dimensions is more than one, so unique cannot be "
        "applied ");
    return {
        make_dense(self.sizes(), self.scalar_type()),
        make_dense({0}, at::kLong),
        make_dense({0}, at::kLong)};
  }
  TORCH_CHECK(
      zeros == 0,
      "There are 0 sized dimensions, and they aren't selected, so unique "
      "cannot be applied");
  const Tensor rows = self.movedim(axis, 0).contiguous();
  const int64_t columns = rows.numel() / n;
  const Tensor order = sort ? order_of_rows(rows, n, columns) : Tensor();
  Grouped made = group(rows, order, order, n, columns, wanted);
  const Tensor kept =
      sort ? at::index_select(order, 0, made.first) : made.first;
  return {
      at::index_select(self, axis, kept),
      std::move(made.inverse),
      std::move(made.counts)};
}

Three unique2(
    const Tensor& self,
    bool sorted,
    bool return_inverse,
    bool return_counts) {
  if (!known(self)) {
    return routing::to_cpu<at::_ops::_unique2>::call(
        self,
        sorted,
        return_inverse,
        return_counts);
  }
  return unique_flat(self, /*sort=*/true, {return_inverse, return_counts});
}

std::tuple<Tensor, Tensor>
unique(const Tensor& self, bool sorted, bool return_inverse) {
  Three made = unique2(self, sorted, return_inverse, /*return_counts=*/false);
  return {std::move(std::get<0>(made)), std::move(std::get<1>(made))};
}

Three unique_dim(
    const Tensor& self,
    int64_t dim,
    bool sorted,
    bool return_inverse,
    bool return_counts) {
  if (!known(self)) {
    return routing::to_cpu<at::_ops::unique_dim>::call(
        self,
        dim,
        sorted,
        return_inverse,
        return_counts);
  }
  // Asked or not, the CPU gives both.
  return unique_slices(self, dim, /*sort=*/true, {true, true});
}

Three unique_dim_consecutive(
    const Tensor& self,
    int64_t dim,
    bool return_inverse,
    bool return_counts) {
  if (!known(self)) {
    return routing::to_cpu<at::_ops::unique_dim_consecutive>::call(
        self,
        dim,
        return_inverse,
        return_counts);
  }
  return unique_slices(self, dim, /*sort=*/false, {true, true});
}

Three unique_consecutive(
    const Tensor& self,
    bool return_inverse,
    bool return_counts,
    std::optional<int64_t> dim) {
  if (!known(self)) {
    return routing::to_cpu<at::_ops::unique_consecutive>::call(
        self,
        return_inverse,
        return_counts,
        dim);
  }
  if (!dim.has_value()) {
    return unique_flat(self, /*sort=*/false, {return_inverse, return_counts});
  }
  return unique_dim_consecutive(self, *dim, return_inverse, return_counts);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&unique>("_unique");
  r.native<&unique2>("_unique2");
  r.native<&unique_dim>("unique_dim");
  r.native<&unique_consecutive>("unique_consecutive");
  r.native<&unique_dim_consecutive>("unique_dim_consecutive");
}

} // namespace

} // namespace torch_fl::ops
