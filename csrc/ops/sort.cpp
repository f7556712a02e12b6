// SPDX-License-Identifier: Apache-2.0
// sort, topk and kthvalue on muDNN's Sort and TopK.
#include "csrc/ops/sort.h"

#include "csrc/mudnn/elementwise.h"
#include "csrc/mudnn/sort.h"
#include "csrc/ops/structured.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/ops/kthvalue_ops.h>
#include <ATen/ops/sort_meta.h>
#include <ATen/ops/topk_meta.h>

#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Tensor;

// muDNN has no order of BOOL; its bytes have one.
Tensor as_bytes(const Tensor& tensor) {
  return tensor.scalar_type() == at::kBool ? tensor.view(at::kByte) : tensor;
}

Tensor target(const Tensor& out) {
  return out.is_contiguous() ? out : make_dense_like(out);
}

void deliver(const Tensor& out, const Tensor& made) {
  if (!made.is_same(out)) {
    copy_back(out, made);
  }
}

void single(const Tensor& self, const Tensor& values, const Tensor& indices) {
  values.copy_(self);
  mudnn::fill(indices, mudnn::Number(int64_t{0}));
}

struct Sort : at::meta::structured_sort_stable {
  bool accepts(
      const Tensor& self,
      std::optional<bool> /*stable*/,
      int64_t /*dim*/,
      bool /*descending*/) {
    return sorts(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      std::optional<bool> /*stable*/,
      int64_t dim,
      bool descending,
      const Tensor& values,
      const Tensor& indices) {
    if (self.numel() == 0) {
      return;
    }
    if (self.dim() == 0) {
      single(self, values, indices);
      return;
    }
    const Tensor source = self.contiguous();
    // An out= that is the input would be read while it is written.
    const auto apart = [&source](const Tensor& out) {
      return out.is_alias_of(source) ? make_dense_like(out) : target(out);
    };
    const Tensor sorted = apart(values);
    const Tensor places = apart(indices);
    mudnn::sort(
        as_bytes(sorted),
        places,
        as_bytes(source),
        at::maybe_wrap_dim(dim, self.dim()),
        descending);
    deliver(values, sorted);
    deliver(indices, places);
  }
};

struct TopK : at::meta::structured_topk {
  bool accepts(
      const Tensor& self,
      int64_t /*k*/,
      int64_t /*dim*/,
      bool /*largest*/,
      bool /*sorted*/) {
    // BOOL is refused by the CPU.
    return self.scalar_type() != at::kBool && sorts(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      int64_t k,
      int64_t dim,
      bool largest,
      bool sorted,
      const Tensor& values,
      const Tensor& indices) {
    if (self.dim() == 0) {
      single(self, values, indices);
      return;
    }
    if (values.numel() == 0) {
      return;
    }
    const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
    const at::ScalarType type = self.scalar_type();
    if (type == at::kLong) {
      // TopK refuses it (quirk 38), and no other type holds it.
      const Sorted all = sorted_along(self, axis, largest);
      values.copy_(all.values.narrow(axis, 0, k));
      indices.copy_(all.indices.narrow(axis, 0, k));
      return;
    }
    const bool direct = mudnn::selects(type);
    const Tensor source = (direct ? self : self.to(at::kInt)).contiguous();
    const bool writes = direct && !values.is_alias_of(source);
    const Tensor best = writes
        ? target(values)
        : make_dense(values.sizes(), direct ? type : at::kInt);
    const Tensor places = target(indices);
    mudnn::select(best, places, source, {k, axis, largest, sorted});
    if (!best.is_same(values)) {
      values.copy_(best);
    }
    deliver(indices, places);
  }
};

std::tuple<Tensor&, Tensor&> kthvalue_out(
    const Tensor& self,
    int64_t k,
    int64_t dim,
    bool keepdim,
    Tensor& values,
    Tensor& indices) {
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  const int64_t length = self.dim() > 0 ? self.size(axis) : 1;
  TORCH_CHECK(
      k >= 1 && k <= length,
      "kthvalue(): selected number k out of range for dimension ",
      axis);
  if (self.scalar_type() == at::kBool || !sorts(self.scalar_type())) {
    return routing::to_cpu<at::_ops::kthvalue_values>::call(
        self,
        k,
        dim,
        keepdim,
        values,
        indices);
  }
  at::assert_no_overlap(self, values);
  const runtime::DeviceScope scope(self.device());
  resize_with_places(self, axis, keepdim, values, indices);
  if (self.dim() == 0) {
    single(self, values, indices);
    return {values, indices};
  }
  if (self.numel() == 0) {
    return {values, indices};
  }
  const Sorted all = sorted_along(self, axis);
  const auto put = [&](const Tensor& from, const Tensor& to) {
    const Tensor picked = from.select(axis, k - 1);
    to.copy_(keepdim ? picked.unsqueeze(axis) : picked);
  };
  put(all.values, values);
  put(all.indices, indices);
  return {values, indices};
}

} // namespace

bool sorts(at::ScalarType type) {
  return mudnn::has_dnn_type(type);
}

Sorted sorted_along(const Tensor& in, int64_t dim, bool descending) {
  const Tensor source = in.contiguous();
  Sorted made{make_dense_like(in), make_dense(in.sizes(), at::kLong)};
  if (in.numel() != 0) {
    mudnn::sort(
        as_bytes(made.values),
        made.indices,
        as_bytes(source),
        dim,
        descending);
  }
  return made;
}

SortedRows sorted_rows(const Tensor& in, int64_t dim) {
  const Tensor moved = dim == in.dim() - 1 ? in : in.movedim(dim, -1);
  const int64_t n = moved.size(-1);
  Sorted made = sorted_along(moved, moved.dim() - 1);
  return {
      std::move(made.values),
      std::move(made.indices),
      n == 0 ? 0 : in.numel() / n,
      n};
}

void resize_with_places(
    const Tensor& self,
    int64_t dim,
    bool keepdim,
    Tensor& values,
    Tensor& indices) {
  check_out(values, self.scalar_type(), self);
  check_out(indices, at::kLong, self);
  c10::DimVector sizes(self.sizes());
  if (self.dim() > 0) {
    at::native::zero_numel_check_dims(self, dim, "reduction");
    if (keepdim) {
      sizes[static_cast<size_t>(dim)] = 1;
    } else {
      sizes.erase(sizes.begin() + dim);
    }
  }
  at::native::resize_output(values, sizes);
  at::native::resize_output(indices, sizes);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  structured<Sort>(r, "sort.stable", nullptr, "sort.values_stable");
  structured<TopK>(r, "topk", nullptr, "topk.values");
  r.native<&kthvalue_out>("kthvalue.values");
}

} // namespace torch_fl::ops
