// SPDX-License-Identifier: Apache-2.0
// searchsorted, bucketize, isin; bincount and histc as counts of sorted
// numbers, which makes them deterministic. On kernels of ours.
#include "csrc/ops/search.h"

#include "csrc/kernels/search.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/sort.h"
#include "csrc/ops/structured.h"
#include "csrc/ops/tensor_lists.h"

#include <ATen/ScalarOps.h>
#include <ATen/native/BucketizationUtils.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/isin_meta.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/searchsorted_ops.h>

#include <cmath>
#include <limits>
#include <optional>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Side = std::optional<c10::string_view>;

void* memory_of(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->mutable_data();
}

const int64_t* places_of(const Tensor& tensor) {
  return static_cast<const int64_t*>(address_of(tensor));
}

const Tensor& either(const Tensor& trimmed, const Tensor& raw) {
  return trimmed.defined() ? trimmed : raw;
}

void run_search(
    const Tensor& boundaries,
    const Tensor& values,
    const Tensor& sorter,
    bool right,
    const Tensor& out) {
  FlSearch search{};
  search.boundaries = address_of(boundaries);
  search.sorter = sorter.defined() ? places_of(sorter) : nullptr;
  search.values = address_of(values);
  search.out = memory_of(out);
  search.n = values.numel();
  search.width = boundaries.size(-1);
  search.per_row = boundaries.dim() == 1 ? 0 : values.size(-1);
  search.right = right ? 1 : 0;
  search.narrow = out.scalar_type() == at::kInt ? 1 : 0;
  FL_MUSA_CHECK(fl_search(
      kernel_type(boundaries.scalar_type()),
      &search,
      kernel_stream()));
}

Tensor& searchsorted_out(
    const Tensor& sorted,
    const Tensor& self,
    bool out_int32,
    bool right,
    Side side,
    const MaybeTensor& maybe_sorter,
    Tensor& out) {
  if (!has_kernel_type(sorted.scalar_type()) ||
      !has_kernel_type(self.scalar_type())) {
    return routing::to_cpu<at::_ops::searchsorted_Tensor_out>::call(
        sorted,
        self,
        out_int32,
        right,
        side,
        maybe_sorter,
        out);
  }
  check_same_device(sorted, out);
  const runtime::DeviceScope scope(sorted.device());
  const Tensor sorter = maybe_sorter.value_or(Tensor());
  at::native::searchsorted_pre_check(
      sorted,
      self,
      out,
      out_int32,
      right,
      side,
      sorter);
  at::native::resize_output(out, self.sizes());
  if (self.numel() == 0) {
    return out;
  }
  if (sorted.numel() == 0) {
    return out.zero_();
  }
  Tensor values;
  Tensor boundaries;
  Tensor order;
  at::native::searchsorted_maybe_trim_input_tensors(
      values,
      boundaries,
      order,
      self,
      sorted,
      sorter);
  const Tensor made = out.is_contiguous() ? out : make_dense_like(out);
  run_search(
      either(boundaries, sorted),
      either(values, self),
      sorter.defined() ? either(order, sorter) : Tensor(),
      right || side == "right",
      made);
  if (!made.is_same(out)) {
    copy_back(out, made);
  }
  return out;
}

Tensor places_like(const Tensor& like, bool out_int32) {
  return make_strided(
      {0},
      {},
      like.options().dtype(out_int32 ? at::kInt : at::kLong));
}

Tensor search_sorted(
    const Tensor& sorted,
    const Tensor& self,
    bool out_int32,
    bool right,
    Side side,
    const MaybeTensor& sorter) {
  const runtime::DeviceScope scope(sorted.device());
  Tensor out = places_like(sorted, out_int32);
  return searchsorted_out(sorted, self, out_int32, right, side, sorter, out);
}

Tensor& searchsorted_number_out(
    const Tensor& sorted,
    const at::Scalar& self,
    bool out_int32,
    bool right,
    Side side,
    const MaybeTensor& sorter,
    Tensor& out) {
  return searchsorted_out(
      sorted,
      at::native::searchsorted_scalar_tensor(self, sorted.device()),
      out_int32,
      right,
      side,
      sorter,
      out);
}

Tensor searchsorted_number(
    const Tensor& sorted,
    const at::Scalar& self,
    bool out_int32,
    bool right,
    Side side,
    const MaybeTensor& sorter) {
  return search_sorted(
      sorted,
      at::native::searchsorted_scalar_tensor(self, sorted.device()),
      out_int32,
      right,
      side,
      sorter);
}

Tensor& bucketize_out(
    const Tensor& self,
    const Tensor& boundaries,
    bool out_int32,
    bool right,
    Tensor& out) {
  TORCH_CHECK(
      boundaries.dim() == 1,
      "boundaries tensor must be 1 dimension, but got dim(",
      boundaries.dim(),
      ")");
  return searchsorted_out(
      boundaries,
      self,
      out_int32,
      right,
      std::nullopt,
      std::nullopt,
      out);
}

Tensor into_buckets(
    const Tensor& self,
    const Tensor& boundaries,
    bool out_int32,
    bool right) {
  const runtime::DeviceScope scope(boundaries.device());
  Tensor out = places_like(boundaries, out_int32);
  return bucketize_out(self, boundaries, out_int32, right, out);
}

Tensor bucketize_number(
    const at::Scalar& self,
    const Tensor& boundaries,
    bool out_int32,
    bool right) {
  return into_buckets(
      at::native::searchsorted_scalar_tensor(self, boundaries.device()),
      boundaries,
      out_int32,
      right);
}

void is_among(
    const Tensor& elements,
    const Tensor& among,
    bool invert,
    const Tensor& out) {
  if (out.numel() == 0) {
    return;
  }
  if (among.numel() == 0) {
    out.fill_(invert);
    return;
  }
  const at::ScalarType type = at::result_type(elements, among);
  const Tensor values = elements.to(type).contiguous();
  const Tensor sorted = sorted_along(among.to(type).reshape({-1}), 0).values;
  const Tensor made = out.is_contiguous() ? out : make_dense_like(out);
  FL_MUSA_CHECK(fl_is_among(
      kernel_type(type),
      memory_of(made),
      address_of(values),
      values.numel(),
      address_of(sorted),
      sorted.numel(),
      invert ? 1 : 0,
      kernel_stream()));
  if (!made.is_same(out)) {
    copy_back(out, made);
  }
}

struct IsIn : at::meta::structured_isin_Tensor_Tensor {
  bool accepts(
      const Tensor& elements,
      const Tensor& among,
      bool /*assume_unique*/,
      bool /*invert*/) {
    return has_kernel_type(elements.scalar_type()) &&
        has_kernel_type(among.scalar_type());
  }
  void impl(
      const Tensor& elements,
      const Tensor& among,
      bool /*assume_unique*/,
      bool invert,
      const Tensor& out) {
    is_among(elements, among, invert, out);
  }
};

struct IsNumber : at::meta::structured_isin_Tensor_Scalar {
  bool accepts(
      const Tensor& elements,
      const at::Scalar& /*test*/,
      bool /*assume_unique*/,
      bool /*invert*/) {
    return has_kernel_type(elements.scalar_type());
  }
  void impl(
      const Tensor& elements,
      const at::Scalar& test,
      bool /*assume_unique*/,
      bool invert,
      const Tensor& out) {
    Tensor to = out;
    if (invert) {
      at::ne_out(to, elements, test);
    } else {
      at::eq_out(to, elements, test);
    }
  }
};

struct IsNumberIn : at::meta::structured_isin_Scalar_Tensor {
  bool accepts(
      const at::Scalar& /*element*/,
      const Tensor& among,
      bool /*assume_unique*/,
      bool /*invert*/) {
    return has_kernel_type(among.scalar_type());
  }
  void impl(
      const at::Scalar& element,
      const Tensor& among,
      bool /*assume_unique*/,
      bool invert,
      const Tensor& out) {
    // Upstream's meta function leaves the shape open.
    out.resize_({});
    is_among(
        at::native::wrapped_scalar_tensor(element, among.device()),
        among,
        invert,
        out);
  }
};

// The size of the result waits for the largest element.
Tensor bincount(
    const Tensor& self,
    const MaybeTensor& maybe_weights,
    int64_t minlength) {
  TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
  const runtime::DeviceScope scope(self.device());
  const bool weighted = maybe_weights.has_value() && maybe_weights->defined();
  if (self.dim() == 1 && self.numel() == 0) {
    return make_dense({minlength}, at::kLong).zero_();
  }
  TORCH_CHECK(
      self.dim() == 1,
      "bincount only supports 1-d non-negative integral inputs.");
  TORCH_CHECK_NOT_IMPLEMENTED(
      c10::isIntegralType(self.scalar_type(), /*includeBool=*/false) &&
          has_kernel_type(self.scalar_type()),
      "\"bincount\" not implemented for '",
      self.scalar_type(),
      "'");
  if (weighted) {
    check_same_device(self, *maybe_weights);
    TORCH_CHECK(
        maybe_weights->dim() == 1 && maybe_weights->numel() == self.numel(),
        "weights should be 1-d and have the same length as input");
  }
  const auto ends = at::aminmax(self);
  TORCH_CHECK(
      std::get<0>(ends).item<int64_t>() >= 0,
      "bincount only supports 1-d non-negative integral inputs.");
  const int64_t bins =
      std::max(std::get<1>(ends).item<int64_t>() + 1, minlength);
  return weighted ? weights_of(self, *maybe_weights, bins)
                  : counts_of(sorted_along(self, 0).values, bins);
}

struct Range {
  double low;
  double high;
};

// Equal ends mean the tensor's own, which waits for them.
Range range_of(
    const Tensor& self,
    const at::Scalar& min,
    const at::Scalar& max) {
  Range range{min.toDouble(), max.toDouble()};
  if (range.low == range.high && self.numel() > 0) {
    const auto ends = at::aminmax(self);
    range.low = std::get<0>(ends).item().toDouble();
    range.high = std::get<1>(ends).item().toDouble();
  }
  if (range.low == range.high) {
    range.low -= 1;
    range.high += 1;
  }
  TORCH_CHECK(
      std::isfinite(range.low) && std::isfinite(range.high),
      "range of [",
      range.low,
      ", ",
      range.high,
      "] is not finite");
  TORCH_CHECK(range.low < range.high, "max must be larger than min");
  return range;
}

Tensor& histc_out(
    const Tensor& self,
    int64_t bins,
    const at::Scalar& min,
    const at::Scalar& max,
    Tensor& out) {
  TORCH_CHECK(
      bins > 0 && bins < std::numeric_limits<int32_t>::max(),
      "bins must be > 0, but got ",
      bins);
  TORCH_CHECK_NOT_IMPLEMENTED(
      has_kernel_type(self.scalar_type()) && self.scalar_type() != at::kBool,
      "\"histc\" not implemented for '",
      self.scalar_type(),
      "'");
  check_out(out, self.scalar_type(), self);
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(out, {bins});
  const Range range = range_of(self, min, max);
  if (self.numel() == 0) {
    return out.zero_();
  }
  const Tensor values = self.contiguous();
  const Tensor places = make_dense({self.numel()}, at::kInt);
  FL_MUSA_CHECK(fl_bin_of(
      kernel_type(self.scalar_type()),
      memory_of(places),
      address_of(values),
      values.numel(),
      bins,
      range.low,
      range.high,
      kernel_stream()));
  out.copy_(counts_of(sorted_along(places, 0).values, bins));
  return out;
}

Tensor histc(
    const Tensor& self,
    int64_t bins,
    const at::Scalar& min,
    const at::Scalar& max) {
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_strided({0}, {}, self.options());
  return histc_out(self, bins, min, max, out);
}

} // namespace

Tensor counts_of(const Tensor& sorted, int64_t bins) {
  Tensor made = make_dense({bins}, at::kLong);
  FL_MUSA_CHECK(fl_bin_counts(
      kernel_type(sorted.scalar_type()),
      memory_of(made),
      bins,
      address_of(sorted),
      sorted.numel(),
      kernel_stream()));
  return made;
}

Tensor weights_of(const Tensor& self, const Tensor& given, int64_t bins) {
  const at::ScalarType type =
      given.scalar_type() == at::kFloat ? at::kFloat : at::kDouble;
  const Tensor weights = given.to(type).contiguous();
  const Sorted keys = sorted_along(self.to(at::kLong), 0);
  Tensor made = make_dense({bins}, type).zero_();
  const Tensor partial =
      make_dense({2 * fl_sum_chunks(self.numel())}, at::kDouble);
  const FlBinSums sums{
      memory_of(made),
      places_of(keys.values),
      places_of(keys.indices),
      address_of(weights),
      static_cast<double*>(memory_of(partial)),
      self.numel()};
  FL_MUSA_CHECK(fl_bin_sums(kernel_type(type), &sums, kernel_stream()));
  return made;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&search_sorted>("searchsorted.Tensor");
  r.native<&searchsorted_out>("searchsorted.Tensor_out");
  r.native<&searchsorted_number>("searchsorted.Scalar");
  r.native<&searchsorted_number_out>("searchsorted.Scalar_out");
  r.native<&into_buckets>("bucketize.Tensor");
  r.native<&bucketize_out>("bucketize.Tensor_out");
  r.native<&bucketize_number>("bucketize.Scalar");
  structured<IsIn>(r, "isin.Tensor_Tensor", nullptr, "isin.Tensor_Tensor_out");
  structured<IsNumber>(
      r,
      "isin.Tensor_Scalar",
      nullptr,
      "isin.Tensor_Scalar_out");
  structured<IsNumberIn>(
      r,
      "isin.Scalar_Tensor",
      nullptr,
      "isin.Scalar_Tensor_out");
  r.native<&bincount>("bincount");
  r.native<&histc>("histc");
  r.native<&histc_out>("histc.out");
}

} // namespace torch_fl::ops
