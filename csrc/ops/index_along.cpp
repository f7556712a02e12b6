// SPDX-License-Identifier: Apache-2.0
// Slices along one dimension, written where an index says: index_copy,
// index_add, index_reduce, index_fill_.
#include "csrc/ops/index_picks.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/structured.h"

#include <ATen/Context.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/ops/index_add_meta.h>
#include <ATen/ops/index_copy_meta.h>
#include <ATen/ops/index_reduce_meta.h>
#include <ATen/ops/view_as_real.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;

// What the kernel writes into: `out` with self's values.
void begin(const Tensor& out, const Tensor& self) {
  if (!out.is_same(self)) {
    out.copy_(self);
  }
}

Tensor at_least_one(const Tensor& source) {
  return source.dim() == 0 ? source.as_strided({1}, {1}) : source;
}

struct IndexCopy : at::meta::structured_index_copy {
  void impl(
      const Tensor& self,
      int64_t dim,
      const Tensor& index,
      const Tensor& source,
      const Tensor& out) {
    begin(out, self);
    if (index.numel() == 0) {
      return;
    }
    const Picks picks = picks_along(
        "index_copy_",
        out,
        at::maybe_wrap_dim(dim, self.dim()),
        index,
        /*from_end=*/false);
    if (at::globalContext().deterministicAlgorithms()) {
      put_last(picks, at_least_one(source));
    } else {
      put_picks(picks, at_least_one(source));
    }
  }
};

struct IndexAdd : at::meta::structured_index_add {
  bool accepts(
      const Tensor& self,
      int64_t /*dim*/,
      const Tensor& /*index*/,
      const Tensor& /*source*/,
      const at::Scalar& alpha) {
    return has_kernel_type(self.scalar_type()) ||
        (self.is_complex() &&
         has_kernel_type(c10::toRealValueType(self.scalar_type())) &&
         !alpha.isComplex());
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      const Tensor& index,
      const Tensor& source,
      const at::Scalar& alpha,
      const Tensor& out) {
    at::native::alpha_check(self.scalar_type(), alpha);
    begin(out, self);
    if (index.numel() == 0) {
      return;
    }
    const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
    Tensor to = at_least_one(out);
    Tensor from = at_least_one(source);
    if (self.is_complex()) {
      to = at::view_as_real(to);
      from = at::view_as_real(from);
    }
    Fold fold;
    fold.alpha = alpha;
    fold_picks(picks_along("index_add_", to, axis, index, false), from, fold);
  }
};

struct IndexReduce : at::meta::structured_index_reduce {
  bool accepts(
      const Tensor& self,
      int64_t /*dim*/,
      const Tensor& /*index*/,
      const Tensor& /*source*/,
      std::string_view /*reduce*/,
      bool /*include_self*/) {
    return has_kernel_type(self.scalar_type()) &&
        self.scalar_type() != at::kBool;
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      const Tensor& index,
      const Tensor& source,
      std::string_view reduce,
      bool include_self,
      const Tensor& out) {
    begin(out, self);
    if (index.numel() == 0) {
      return;
    }
    Fold fold;
    fold.keep = include_self;
    fold.mean = reduce == "mean";
    fold.how = reduce == "prod" ? kFlProduct
        : reduce == "amax"      ? kFlMaximum
        : reduce == "amin"      ? kFlMinimum
                                : kFlSum;
    fold_picks(
        picks_along(
            "index_reduce_",
            out,
            at::maybe_wrap_dim(dim, self.dim()),
            index,
            false),
        at_least_one(source),
        fold);
  }
};

Picks fill_picks(const Tensor& self, int64_t dim, const Tensor& index) {
  TORCH_CHECK_INDEX(
      index.scalar_type() == at::kLong,
      "index_fill_(): Expected dtype int64 for index.");
  TORCH_CHECK(index.dim() <= 1, "Index has to be a vector/scalar");
  check_same_device(self, index);
  at::assert_no_overlap(self, index);
  if (at::has_internal_overlap(self) == at::MemOverlap::Yes) {
    TORCH_WARN(
        "Use of index_fill_ on expanded tensors is deprecated. Please clone() "
        "the tensor before performing this operation.");
  }
  return picks_along(
      "index_fill_",
      self,
      at::maybe_wrap_dim(dim, self.dim()),
      index,
      /*from_end=*/true);
}

Tensor& index_fill_scalar(
    Tensor& self,
    int64_t dim,
    const Tensor& index,
    const at::Scalar& value) {
  TORCH_CHECK(
      self.is_complex() || !value.isComplex(),
      "index_fill_(): Converting complex Scalar to non-complex type is not "
      "supported");
  const runtime::DeviceScope scope(self.device());
  const Picks picks = fill_picks(self, dim, index);
  put_picks(picks, number_bits(value, self.scalar_type()));
  return self;
}

// The value stays on its device: no wait for it.
Tensor& index_fill_tensor(
    Tensor& self,
    int64_t dim,
    const Tensor& index,
    const Tensor& value) {
  TORCH_CHECK(
      value.dim() == 0,
      "index_fill_ only supports a 0-dimensional value tensor, but got tensor "
      "with ",
      value.dim(),
      " dimension(s).");
  if (value.device() != self.device()) {
    return index_fill_scalar(self, dim, index, value.item());
  }
  TORCH_CHECK(
      self.is_complex() || !value.is_complex(),
      "index_fill_(): Converting complex Scalar to non-complex type is not "
      "supported");
  at::assert_no_overlap(self, value);
  const runtime::DeviceScope scope(self.device());
  const Picks picks = fill_picks(self, dim, index);
  put_picks(picks, value.to(self.scalar_type()));
  return self;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  structured<IndexCopy>(r, "index_copy", "index_copy_", "index_copy.out");
  structured<IndexAdd>(r, "index_add", "index_add_", "index_add.out");
  structured<IndexReduce>(
      r,
      "index_reduce",
      "index_reduce_",
      "index_reduce.out");
  r.native<&index_fill_scalar>("index_fill_.int_Scalar");
  r.native<&index_fill_tensor>("index_fill_.int_Tensor");
}

} // namespace

} // namespace torch_fl::ops
