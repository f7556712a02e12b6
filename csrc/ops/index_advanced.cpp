// SPDX-License-Identifier: Apache-2.0
// x[indices] and x[indices] = values, take, put_ and masked_scatter_.
#include "csrc/mudnn/sequence.h"
#include "csrc/ops/index_picks.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/structured.h"

#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/TensorAdvancedIndexingUtils.h>
#include <ATen/ops/index_meta.h>
#include <ATen/ops/view_as_real.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using IndexList = c10::List<std::optional<Tensor>>;

struct Index : at::meta::structured_index_Tensor {
  at::DimVector extents;
  at::DimVector steps; // in bytes

  void meta(const Tensor& self, at::IOptTensorListRef indices) {
    const auto kept = at::meta::structured_index_Tensor::meta(self, indices);
    extents = kept.sizes;
    steps = kept.strides;
  }
  bool accepts(const Tensor& /*self*/, at::IOptTensorListRef /*indices*/) {
    return ndim() <= kFlMaxRank;
  }
  void impl(
      const Tensor& self,
      at::IOptTensorListRef /*indices*/,
      const Tensor& out) {
    if (ninputs() == 1) {
      out.copy_(self);
      return;
    }
    Indexers by{"index", true, {}, extents, steps};
    for (int64_t& step : by.steps) {
      step /= static_cast<int64_t>(element_size(0));
    }
    get_picks(*this, std::move(by));
  }
};

// A CPU number may be put into a tensor of a device.
bool is_number(const Tensor& value) {
  return value.device().is_cpu() && value.dim() == 0;
}

void check_put(
    const Tensor& self,
    const IndexList& indices,
    const Tensor& value) {
  TORCH_CHECK_INDEX(
      static_cast<int64_t>(indices.size()) <= self.dim(),
      "too many indices for tensor of dimension ",
      self.dim(),
      " (got ",
      indices.size(),
      ")");
  TORCH_CHECK_INDEX(
      self.scalar_type() == value.scalar_type(),
      "Index put requires the source and destination dtypes match, got ",
      self.scalar_type(),
      " for the destination and ",
      value.scalar_type(),
      " for the source.");
  if (at::has_internal_overlap(self) == at::MemOverlap::Yes) {
    TORCH_WARN(
        "Use of index_put_ on expanded tensors is deprecated. Please clone() "
        "the tensor before performing this operation. This also applies to "
        "advanced indexing e.g. tensor[indices] = tensor");
  }
  if (!is_number(value)) {
    check_same_device(self, value);
    at::assert_no_overlap(self, value);
  }
  for (const std::optional<Tensor>& index : indices) {
    if (index.has_value()) {
      at::assert_no_overlap(self, *index);
    }
  }
}

// Sums of every dtype that the device has; complex ones in two parts.
void add_picks(
    const Tensor& self,
    const IndexList& indices,
    const Tensor& value) {
  const bool parts = self.is_complex();
  const Picks picks =
      picks_of("index_put_", parts ? at::view_as_real(self) : self, indices);
  if (picks.by.tensors.empty()) {
    self.add_(value);
    return;
  }
  Tensor from =
      value.device() == self.device() ? value : value.to(self.device());
  const Tensor to = restrided(picks);
  if (parts) {
    from = at::view_as_real(from);
  }
  TORCH_CHECK(
      at::is_expandable_to(from.sizes(), to.sizes()),
      "shape mismatch: value tensor of shape ",
      value.sizes(),
      " cannot be broadcast to indexing result of shape ",
      parts ? to.sizes().slice(0, to.sizes().size() - 1) : to.sizes());
  fold_picks(picks, from, Fold{});
}

Tensor& index_put_impl(
    Tensor& self,
    const IndexList& indices,
    const Tensor& value,
    bool accumulate,
    bool unsafe) {
  check_put(self, indices, value);
  const runtime::DeviceScope scope(self.device());
  if (accumulate) {
    const at::ScalarType type = c10::toRealValueType(self.scalar_type());
    if (!has_kernel_type(type)) {
      return routing::ToCpuByName<
          Tensor&(Tensor&, const IndexList&, const Tensor&, bool, bool)>::
          call("_index_put_impl_", self, indices, value, accumulate, unsafe);
    }
    add_picks(self, indices, value);
    return self;
  }
  auto [is_fill, mask] =
      at::native::canDispatchToMaskedFill(self, indices, value);
  if (is_fill) {
    return self.masked_fill_(mask.to(at::kBool), value.item());
  }
  const Picks picks = picks_of("index_put_", self, indices);
  if (picks.by.tensors.empty()) {
    self.copy_(value.expand_as(self));
    return self;
  }
  if (is_number(value)) {
    put_picks(picks, number_bits(value.item(), self.scalar_type()));
    return self;
  }
  const Tensor to = restrided(picks);
  TORCH_CHECK(
      at::is_expandable_to(value.sizes(), to.sizes()),
      "shape mismatch: value tensor of shape ",
      value.sizes(),
      " cannot be broadcast to indexing result of shape ",
      to.sizes());
  if (at::globalContext().deterministicAlgorithms()) {
    put_last(picks, value);
  } else {
    put_picks(picks, value);
  }
  return self;
}

// Elements counted row by row, as one index: into memory without gaps
// directly, else through their places.
Picks flat_picks(const char* name, const Tensor& self, const Tensor& index) {
  Picks picks{{name, true, {index}, {}, {}}, self, 0, {}};
  picks.shape = at::DimVector(index.sizes());
  if (self.is_contiguous()) {
    picks.base = self.as_strided({self.numel()}, {1});
    picks.by.extents.push_back(self.numel());
    picks.by.steps.push_back(1);
    return picks;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      self.dim() <= kFlMaxRank,
      name,
      ": flagos takes at most ",
      kFlMaxRank,
      " dimensions, got ",
      self.dim());
  const Tensor line = index.contiguous();
  const Tensor places = make_dense(index.sizes(), at::kLong);
  FlUnravel v{};
  v.name = name;
  v.index = line.const_data_ptr<int64_t>();
  v.out = places.mutable_data_ptr<int64_t>();
  v.n = index.numel();
  v.extent = self.numel();
  v.rank = static_cast<int32_t>(self.dim());
  int64_t span = 1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const auto at = static_cast<size_t>(self.dim() - 1 - d);
    v.dims[d] = self.sizes()[at];
    v.strides[d] = self.strides()[at];
    span += (self.sizes()[at] - 1) * self.strides()[at];
  }
  FL_MUSA_CHECK(fl_index_unravel(kFlInt64, &v, kernel_stream()));
  picks.by.tensors[0] = places;
  picks.by.extents.push_back(span);
  picks.by.steps.push_back(1);
  picks.base = self.as_strided({span}, {1});
  return picks;
}

Tensor& take_out(const Tensor& self, const Tensor& index, Tensor& out) {
  TORCH_CHECK(
      index.scalar_type() == at::kLong,
      "take(): Expected a long tensor for index, but got ",
      index.scalar_type());
  TORCH_CHECK(
      self.scalar_type() == out.scalar_type(),
      "take(): self and out expected to have the same dtype, but got "
      "self.dtype = ",
      self.scalar_type(),
      " and out.dtype = ",
      out.scalar_type());
  check_same_device(self, index);
  check_same_device(self, out);
  TORCH_CHECK_INDEX(
      self.numel() != 0 || index.numel() == 0,
      "take(): tried to take from an empty tensor");
  const runtime::DeviceScope scope(self.device());
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, index);
  at::assert_no_overlap(out, self);
  at::native::resize_output(out, index.sizes());
  if (index.numel() == 0) {
    return out;
  }
  Picks picks = flat_picks("take", self, index);
  const Tensor from = restrided(picks);
  at::TensorIterator iter = at::TensorIteratorConfig()
                                .set_check_mem_overlap(false)
                                .resize_outputs(false)
                                .check_all_same_dtype(false)
                                .add_output(out)
                                .add_const_input(from)
                                .add_const_input(picks.by.tensors[0])
                                .build();
  picks.by.tensors.clear();
  get_picks(iter, std::move(picks.by));
  return out;
}

Tensor take(const Tensor& self, const Tensor& index) {
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_dense(index.sizes(), self.scalar_type());
  return take_out(self, index, out);
}

Tensor&
put(Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  TORCH_CHECK(
      index.scalar_type() == at::kLong,
      "put_(): Expected a long tensor for index, but got ",
      index.scalar_type());
  TORCH_CHECK(
      self.scalar_type() == source.scalar_type(),
      "put_(): self and source expected to have the same dtype, but got "
      "self.dtype = ",
      self.scalar_type(),
      " and source.dtype = ",
      source.scalar_type());
  TORCH_CHECK(
      source.numel() == index.numel(),
      "put_(): Expected source and index to have the same number of elements, "
      "but got source.numel() = ",
      source.numel(),
      ", index.numel() = ",
      index.numel());
  check_same_device(self, index);
  check_same_device(self, source);
  TORCH_CHECK_INDEX(
      self.numel() != 0 || index.numel() == 0,
      "put_(): Tried to put elements into an empty tensor");
  at::assert_no_internal_overlap(self);
  at::assert_no_overlap(self, index);
  at::assert_no_overlap(self, source);
  if (index.numel() == 0) {
    return self;
  }
  const runtime::DeviceScope scope(self.device());
  if (accumulate && !has_kernel_type(self.scalar_type())) {
    return routing::
        ToCpuByName<Tensor&(Tensor&, const Tensor&, const Tensor&, bool)>::call(
            "put_",
            self,
            index,
            source,
            accumulate);
  }
  const Picks picks = flat_picks("put_", self, index);
  const Tensor values = source.reshape(index.sizes());
  if (accumulate) {
    fold_picks(picks, values, Fold{});
  } else if (at::globalContext().deterministicAlgorithms()) {
    put_last(picks, values);
  } else {
    put_picks(picks, values);
  }
  return self;
}

Tensor& masked_scatter(Tensor& self, const Tensor& mask, const Tensor& source) {
  TORCH_CHECK(
      self.scalar_type() == source.scalar_type(),
      "masked_scatter_: expected self and source to have same dtypes but got ",
      self.scalar_type(),
      " and ",
      source.scalar_type());
  TORCH_CHECK(
      mask.scalar_type() == at::kBool,
      "masked_scatter_ only supports boolean masks, but got mask with dtype ",
      mask.scalar_type());
  check_same_device(self, mask);
  check_same_device(self, source);
  at::assert_no_internal_overlap(self);
  const runtime::DeviceScope scope(self.device());
  const auto expanded = at::expand_inplace(self, mask, "masked_scatter_");
  if (self.numel() == 0) {
    return self;
  }
  const Tensor where = expanded->contiguous();
  const Tensor counted = make_dense({where.numel()}, at::kLong);
  counted.copy_(where.view({-1}));
  const Tensor rank = make_dense(where.sizes(), at::kLong);
  mudnn::cumulate(rank.view({-1}), counted, 0, /*product=*/false);
  at::TensorIterator iter = at::TensorIteratorConfig()
                                .set_check_mem_overlap(false)
                                .resize_outputs(false)
                                .check_all_same_dtype(false)
                                .add_output(self)
                                .add_const_input(where)
                                .add_const_input(rank)
                                .build();
  const Tensor values = source.contiguous();
  const FlOperands v = kernel_operands(iter);
  FL_MUSA_CHECK(fl_masked_scatter(
      &v,
      static_cast<int32_t>(self.element_size()),
      values.unsafeGetTensorImpl()->data(),
      values.numel(),
      kernel_stream()));
  return self;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  structured<Index>(r, "index.Tensor", nullptr, "index.Tensor_out");
  r.native<&index_put_impl>("_index_put_impl_");
  r.native<&take>("take");
  r.native<&take_out>("take.out");
  r.native<&put>("put_");
  r.native<&masked_scatter>("masked_scatter_");
}

} // namespace

} // namespace torch_fl::ops
