// SPDX-License-Identifier: Apache-2.0
// cdist and pdist with their gradients, on kernels of ours; the Euclidean
// distance of many rows by a product, as upstream.
#include "csrc/kernels/distance.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/tensor_lists.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ExpandUtils.h>
#include <ATen/ops/_euclidean_dist.h>

#include <optional>
#include <vector>

namespace torch_fl::ops {

namespace {

using at::Tensor;

constexpr int64_t kManyRows = 25;

void check_real(const char* op, const Tensor& x) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble,
      "\"",
      op,
      "\" not implemented for '",
      x.scalar_type(),
      "'");
}

void* memory_of(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->mutable_data();
}

// What both operands' leading dimensions broadcast to, and the last two.
std::vector<int64_t>
with_batch(const Tensor& x1, const Tensor& x2, int64_t rows, int64_t columns) {
  std::vector<int64_t> sizes = at::infer_size(
      x1.sizes().slice(0, static_cast<size_t>(x1.dim() - 2)),
      x2.sizes().slice(0, static_cast<size_t>(x2.dim() - 2)));
  sizes.push_back(rows);
  sizes.push_back(columns);
  return sizes;
}

int64_t batch_of(const std::vector<int64_t>& sizes) {
  return c10::multiply_integers(sizes.begin(), sizes.end() - 2);
}

void check_pair(const Tensor& x1, const Tensor& x2, double p) {
  TORCH_CHECK(
      x1.dim() >= 2,
      "cdist only supports at least 2D tensors, X1 got: ",
      x1.dim(),
      "D");
  TORCH_CHECK(
      x2.dim() >= 2,
      "cdist only supports at least 2D tensors, X2 got: ",
      x2.dim(),
      "D");
  TORCH_CHECK(
      x1.size(-1) == x2.size(-1),
      "X1 and X2 must have the same number of columns. X1: ",
      x1.size(-1),
      " X2: ",
      x2.size(-1));
  TORCH_CHECK(p >= 0, "cdist only supports non-negative p values");
  check_same_device(x1, x2);
  check_real("cdist", x1);
  TORCH_CHECK(
      x1.scalar_type() == x2.scalar_type(),
      "cdist: X1 and X2 must have one dtype, got ",
      x1.scalar_type(),
      " and ",
      x2.scalar_type());
}

Tensor cdist_forward(
    const Tensor& x1,
    const Tensor& x2,
    double p,
    std::optional<int64_t> compute_mode) {
  check_pair(x1, x2, p);
  const int64_t mode = compute_mode.value_or(0);
  TORCH_CHECK(
      mode >= 0 && mode <= 2,
      "possible modes: 0, 1, 2, but was: ",
      mode);
  const runtime::DeviceScope scope(x1.device());
  const int64_t rows = x1.size(-2);
  const int64_t others = x2.size(-2);
  const int64_t columns = x1.size(-1);
  const std::vector<int64_t> sizes = with_batch(x1, x2, rows, others);
  const Tensor left = x1.expand(with_batch(x1, x2, rows, columns)).contiguous();
  const Tensor right =
      x2.expand(with_batch(x1, x2, others, columns)).contiguous();
  const bool empty = batch_of(sizes) * rows * others == 0;
  const bool many = rows > kManyRows || others > kManyRows;
  if (!empty && columns != 0 && p == 2 && (mode == 1 || (mode == 0 && many))) {
    return at::_euclidean_dist(left, right);
  }
  Tensor made = make_dense(sizes, x1.scalar_type());
  if (empty) {
    return made;
  }
  if (columns == 0) {
    return made.zero_();
  }
  FlDistances job{};
  job.distance = memory_of(made);
  job.left = address_of(left);
  job.right = address_of(right);
  job.batch = batch_of(sizes);
  job.rows = rows;
  job.others = others;
  job.columns = columns;
  job.p = p;
  FL_MUSA_CHECK(
      fl_distances(kernel_type(x1.scalar_type()), &job, kernel_stream()));
  return made;
}

Tensor cdist_backward(
    const Tensor& given_grad,
    const Tensor& x1,
    const Tensor& x2,
    double p,
    const Tensor& cdist) {
  check_pair(x1, x2, p);
  check_same_device(x1, given_grad);
  check_same_device(x1, cdist);
  const runtime::DeviceScope scope(x1.device());
  const int64_t rows = x1.size(-2);
  const int64_t others = x2.size(-2);
  const int64_t columns = x1.size(-1);
  const std::vector<int64_t> sizes = with_batch(x1, x2, rows, columns);
  Tensor made = make_dense(sizes, x1.scalar_type());
  if (made.numel() == 0) {
    return made;
  }
  if (others == 0) {
    return made.zero_();
  }
  const std::vector<int64_t> pairs = with_batch(x1, x2, rows, others);
  const Tensor left = x1.expand(sizes).contiguous();
  const Tensor right =
      x2.expand(with_batch(x1, x2, others, columns)).contiguous();
  const Tensor grad = given_grad.expand(pairs).contiguous();
  const Tensor distance = cdist.expand(pairs).contiguous();
  FlDistances job{};
  job.distance = const_cast<void*>(address_of(distance));
  job.left = address_of(left);
  job.right = address_of(right);
  job.grad = address_of(grad);
  job.out = memory_of(made);
  job.batch = batch_of(sizes);
  job.rows = rows;
  job.others = others;
  job.columns = columns;
  job.p = p;
  FL_MUSA_CHECK(fl_distances_backward(
      kernel_type(x1.scalar_type()),
      &job,
      kernel_stream()));
  return made;
}

Tensor pdist_forward(const Tensor& self, double p) {
  TORCH_CHECK(self.is_contiguous(), "_pdist_forward requires contiguous input");
  check_real("pdist", self);
  const runtime::DeviceScope scope(self.device());
  const int64_t rows = self.size(0);
  Tensor made =
      make_dense({rows <= 1 ? 0 : rows * (rows - 1) / 2}, self.scalar_type());
  if (made.numel() == 0) {
    return made;
  }
  if (self.size(1) == 0) {
    return made.zero_();
  }
  FlDistances job{};
  job.distance = memory_of(made);
  job.left = address_of(self);
  job.rows = rows;
  job.columns = self.size(1);
  job.p = p;
  FL_MUSA_CHECK(
      fl_own_distances(kernel_type(self.scalar_type()), &job, kernel_stream()));
  return made;
}

Tensor pdist_backward(
    const Tensor& given_grad,
    const Tensor& self,
    double p,
    const Tensor& pdist) {
  TORCH_CHECK(
      self.is_contiguous(),
      "_pdist_backward requires self to be contiguous");
  TORCH_CHECK(
      pdist.is_contiguous(),
      "_pdist_backward requires pdist to be contiguous");
  check_real("pdist_backward", self);
  check_same_device(self, given_grad);
  check_same_device(self, pdist);
  const runtime::DeviceScope scope(self.device());
  Tensor made = make_dense_like(self);
  if (made.numel() == 0) {
    return made;
  }
  const Tensor grad = given_grad.contiguous();
  FlDistances job{};
  job.distance = const_cast<void*>(address_of(pdist));
  job.left = address_of(self);
  job.grad = address_of(grad);
  job.out = memory_of(made);
  job.rows = self.size(0);
  job.columns = self.size(1);
  job.p = p;
  FL_MUSA_CHECK(fl_own_distances_backward(
      kernel_type(self.scalar_type()),
      &job,
      kernel_stream()));
  return made;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&cdist_forward>("_cdist_forward");
  r.native<&cdist_backward>("_cdist_backward");
  r.native<&pdist_forward>("_pdist_forward");
  r.native<&pdist_backward>("_pdist_backward");
}

} // namespace

} // namespace torch_fl::ops
