// SPDX-License-Identifier: Apache-2.0
// Gathering, joining, selecting, running sums, and whole-tensor equality.
#include "csrc/mudnn/index.h"
#include "csrc/mudnn/reduce.h"
#include "csrc/mudnn/sequence.h"
#include "csrc/ops/elementwise.h"

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/cat_meta.h>
#include <ATen/ops/cumprod_meta.h>
#include <ATen/ops/cumsum_meta.h>
#include <ATen/ops/gather_meta.h>

#include <vector>

namespace torch_fl::ops {

namespace {

using at::Tensor;

bool known(const Tensor& self) {
  return mudnn::has_dnn_type(self.scalar_type());
}

// torch joins 1-D tensors of no elements to anything.
bool is_skipped(const Tensor& part) {
  return part.numel() == 0;
}

struct Cat : at::meta::structured_cat {
  bool accepts(const at::ITensorListRef& tensors, int64_t /*dim*/) {
    for (const Tensor& part : tensors) {
      if (!known(part)) {
        return false;
      }
    }
    return known(maybe_get_output(0));
  }
  void impl(const at::ITensorListRef& tensors, int64_t dim, const Tensor& out) {
    std::vector<Tensor> parts;
    parts.reserve(tensors.size());
    for (const Tensor& part : tensors) {
      if (is_skipped(part)) {
        continue;
      }
      at::assert_no_overlap(out, part);
      if (part.scalar_type() == out.scalar_type()) {
        parts.push_back(part);
      } else {
        parts.push_back(make_dense(part.sizes(), out.scalar_type()));
        parts.back().copy_(part);
      }
    }
    at::assert_no_internal_overlap(out);
    mudnn::concat(out, parts, at::maybe_wrap_dim(dim, out.dim()));
  }
};

// Whether `part` may be joined to `first` along `dim`, or the CPU, meta or the
// conversion above has a say. More dimensions have memory formats.
bool joins(const Tensor& first, const Tensor& part, int64_t dim) {
  const at::IntArrayRef sizes = part.sizes();
  const at::IntArrayRef expected = first.sizes();
  if (!dense_here(part) || part.device() != first.device() ||
      part.scalar_type() != first.scalar_type() || part.numel() == 0 ||
      sizes.size() != expected.size()) {
    return false;
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != expected[d] && static_cast<int64_t>(d) != dim) {
      return false;
    }
  }
  return true;
}

// The quick road: dense tensors of one dtype and of few dimensions.
Tensor cat(const at::ITensorListRef& tensors, int64_t dim) {
  constexpr int64_t kMostDims = 3;
  const size_t count = tensors.size();
  if (count == 0) {
    return FormsOf<Cat>::functional(tensors, dim);
  }
  const Tensor& first = *tensors.begin();
  const int64_t dims = first.dim();
  const int64_t axis = dim < 0 ? dim + dims : dim;
  bool quick = known(first) && dims <= kMostDims && axis >= 0 && axis < dims;
  c10::SmallVector<int64_t, kMostDims> sizes(first.sizes());
  int64_t extent = 0;
  for (const Tensor& part : tensors) {
    quick = quick && joins(first, part, axis);
    extent += quick ? part.sizes()[static_cast<size_t>(axis)] : 0;
  }
  if (!quick) {
    return FormsOf<Cat>::functional(tensors, dim);
  }
  sizes[static_cast<size_t>(axis)] = extent;
  const runtime::DeviceScope scope(first.device());
  Tensor out = make_dense(sizes, first.scalar_type());
  mudnn::concat_dense(out, tensors, axis);
  return out;
}

struct Gather : at::meta::structured_gather {
  bool accepts(
      const Tensor& self,
      int64_t /*dim*/,
      const Tensor& index,
      bool /*sparse_grad*/) {
    // Shapes that differ outside `dim` need a narrowed input.
    return known(self) && known(index) && self.dim() > 0 && index.dim() > 0;
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      const Tensor& index,
      bool /*sparse_grad*/,
      const Tensor& out) {
    const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
    Tensor source = self;
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (d != axis && source.size(d) != index.size(d)) {
        source = source.narrow(d, 0, index.size(d));
      }
    }
    mudnn::gather_elements(out, source, axis, index);
  }
};

void check_index(const Tensor& self, const Tensor& index) {
  TORCH_CHECK_INDEX(
      index.dim() <= 1,
      "index_select(): Index is supposed to be a vector");
  TORCH_CHECK(
      index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
      "index_select(): Expected dtype int32 or int64 for index");
  check_same_device(self, index);
}

Tensor& index_select_out(
    const Tensor& self,
    int64_t dim,
    const Tensor& index,
    Tensor& out) {
  check_index(self, index);
  check_same_device(self, out);
  TORCH_CHECK(
      self.scalar_type() == out.scalar_type(),
      "index_select(): self and result must have the same scalar type");
  if (!known(self) || self.dim() == 0) {
    return routing::ToCpuByName<
        Tensor&(const Tensor&, int64_t, const Tensor&, Tensor&)>::
        call("index_select.out", self, dim, index, out);
  }
  const runtime::DeviceScope scope(self.device());
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  at::DimVector sizes(self.sizes());
  sizes[static_cast<size_t>(axis)] = index.numel();
  TORCH_CHECK_INDEX(
      self.size(axis) > 0 || index.numel() == 0,
      "index_select(): index out of range, the dimension has no elements");
  at::native::resize_output(out, sizes);
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, self);
  at::assert_no_overlap(out, index);
  mudnn::gather_slices(
      out,
      self,
      axis,
      index.dim() == 0 ? index.view({1}) : index);
  return out;
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_dense({0}, self.scalar_type());
  index_select_out(self, dim, index, out);
  return out;
}

// Running sums: Cum has ADD and MUL only (quirk 36), and wants int at least
// (quirk 37).
template <class Meta, bool product>
struct Running : Meta {
  bool accepts(
      const Tensor& self,
      int64_t /*dim*/,
      const std::optional<at::ScalarType>& /*dtype*/) {
    return known(self) && arithmetic(this->maybe_get_output(0).scalar_type());
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      std::optional<at::ScalarType> /*dtype*/,
      const Tensor& out) {
    if (out.numel() == 0) {
      return;
    }
    if (self.dim() == 0) {
      out.copy_(self);
      return;
    }
    at::ScalarType type = out.scalar_type();
    if (c10::isIntegralType(type, /*includeBool=*/false)) {
      type = at::kLong;
    } else if (type != at::kDouble) {
      type = at::kFloat;
    }
    Tensor source = self;
    if (self.scalar_type() != type) {
      source = make_dense(self.sizes(), type);
      source.copy_(self);
    }
    const Tensor result =
        out.scalar_type() == type ? out : make_dense(out.sizes(), type);
    mudnn::cumulate(
        result,
        source,
        at::maybe_wrap_dim(dim, self.dim()),
        product);
    if (!result.is_same(out)) {
      out.copy_(result);
    }
  }
};

// The class takes these only (quirk 77).
Tensor nonzero_input(const Tensor& self) {
  if (self.scalar_type() == at::kFloat || self.scalar_type() == at::kBool ||
      self.scalar_type() == at::kByte) {
    return self;
  }
  Tensor truth = make_dense(self.sizes(), at::kBool);
  truth.copy_(self);
  return truth;
}

Tensor nonzero(const Tensor& self) {
  constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
  if (!known(self) || self.dim() == 0 || self.numel() >= kLimit) {
    return routing::ToCpuByName<Tensor(const Tensor&)>::call("nonzero", self);
  }
  const runtime::DeviceScope scope(self.device());
  if (self.numel() == 0) {
    return make_dense({0, self.dim()}, at::kLong);
  }
  return mudnn::nonzero(nonzero_input(self));
}

Tensor& nonzero_out(const Tensor& self, Tensor& out) {
  TORCH_CHECK(
      out.scalar_type() == at::kLong,
      "nonzero: Expected out tensor to have scalar type Long but got scalar "
      "type ",
      out.scalar_type());
  check_same_device(self, out);
  const Tensor places = ops::nonzero(self);
  at::native::resize_output(out, places.sizes());
  out.copy_(places);
  return out;
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  TORCH_CHECK(
      mask.scalar_type() == at::kBool,
      "masked_select: expected BoolTensor for mask");
  check_same_device(self, mask);
  if (!known(self)) {
    return routing::ToCpuByName<Tensor(const Tensor&, const Tensor&)>::call(
        "masked_select",
        self,
        mask);
  }
  const runtime::DeviceScope scope(self.device());
  const auto [values, where] = at::expand_outplace(self, mask);
  if (values->numel() == 0) {
    return make_dense({0}, self.scalar_type());
  }
  return mudnn::masked_select(
      values->dim() == 0 ? values->view({1}) : *values,
      where->dim() == 0 ? where->view({1}) : *where);
}

Tensor& masked_select_out(const Tensor& self, const Tensor& mask, Tensor& out) {
  TORCH_CHECK(
      self.scalar_type() == out.scalar_type(),
      "masked_select(): self and result must have the same scalar type");
  check_same_device(self, out);
  const Tensor selected = ops::masked_select(self, mask);
  at::native::resize_output(out, selected.sizes());
  out.copy_(selected);
  return out;
}

bool equal(const Tensor& self, const Tensor& other) {
  check_same_device(self, other);
  TORCH_CHECK(
      self.dtype() == other.dtype(),
      "Expected all tensors to have the same dtype, but got ",
      self.dtype(),
      " and ",
      other.dtype());
  if (self.sizes() != other.sizes()) {
    return false;
  }
  if (self.numel() == 0) {
    return true;
  }
  if (!known(self)) {
    return routing::ToCpuByName<bool(const Tensor&, const Tensor&)>::call(
        "equal",
        self,
        other);
  }
  const runtime::DeviceScope scope(self.device());
  const Tensor same = make_dense(self.sizes(), at::kBool);
  auto iter = at::TensorIteratorConfig()
                  .check_all_same_dtype(false)
                  .add_output(same)
                  .add_const_input(self)
                  .add_const_input(other)
                  .build();
  mudnn::BinaryRow row{};
  row.both = mudnn::BinaryMode::EQ;
  row.yields_bool = true;
  mudnn::binary(mudnn::Operands(iter, self.scalar_type()), row);
  const Tensor all = make_dense({}, at::kBool);
  mudnn::DimMask every;
  for (int64_t d = 0; d < same.dim(); ++d) {
    every.set(static_cast<size_t>(d));
  }
  mudnn::reduce(all, same, every, mudnn::ReduceMode::AND, at::kBool);
  return at::_local_scalar_dense(all).toBool();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  FormsOf<Cat>::names = {"cat", "cat.out", nullptr};
  r.native<&cat>("cat");
  r.native<&FormsOf<Cat>::out>("cat.out");
  structured<Gather>(r, "gather", nullptr, "gather.out");
  structured<Running<at::meta::structured_cumsum, false>>(
      r,
      "cumsum",
      "cumsum_",
      "cumsum.out");
  structured<Running<at::meta::structured_cumprod, true>>(
      r,
      "cumprod",
      "cumprod_",
      "cumprod.out");
  r.native<&index_select>("index_select");
  r.native<&index_select_out>("index_select.out");
  r.native<&nonzero>("nonzero");
  r.native<&nonzero_out>("nonzero.out");
  r.native<&masked_select>("masked_select");
  r.native<&masked_select_out>("masked_select.out");
  r.native<&equal>("equal");
}

} // namespace

} // namespace torch_fl::ops
