// SPDX-License-Identifier: Apache-2.0
// torch.histogram: elements are looked up among the edges of bins, and counted
// or weighed.
#include "csrc/ops/elementwise.h"
#include "csrc/ops/output.h"
#include "csrc/ops/search.h"
#include "csrc/ops/sort.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ops/aminmax.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/searchsorted.h>

#include <cmath>
#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Range = std::optional<at::ArrayRef<double>>;
using Two = std::tuple<Tensor, Tensor>;
using TwoOut = std::tuple<Tensor&, Tensor&>;

void check_inputs(
    const Tensor& self,
    const MaybeTensor& weight,
    const Tensor& edges) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      self.scalar_type() == at::kFloat || self.scalar_type() == at::kDouble,
      "\"histogram\" not implemented for '",
      self.scalar_type(),
      "'");
  check_same_device(self, edges);
  TORCH_CHECK(
      edges.scalar_type() == self.scalar_type(),
      "torch.histogram(): input tensor and bins tensors should have the same "
      "dtype, but got input with dtype ",
      self.scalar_type(),
      " and bins with dtype ",
      edges.scalar_type());
  TORCH_CHECK(
      edges.dim() == 1 && edges.numel() > 0,
      "torch.histogram(): bins tensor should have one dimension and elements, "
      "but got ",
      edges.sizes());
  TORCH_CHECK(
      edges.numel() > 1,
      "torch.histogram(): bins must be > 0, but got 0 for dimension 0");
  if (weight.has_value() && weight->defined()) {
    check_same_device(self, *weight);
    TORCH_CHECK(
        weight->scalar_type() == self.scalar_type(),
        "torch.histogram(): if weight tensor is provided, input tensor and "
        "weight tensor should have the same dtype, but got input(",
        self.scalar_type(),
        "), and weight(",
        weight->scalar_type(),
        ")");
    TORCH_CHECK(
        weight->sizes() == self.sizes(),
        "torch.histogram(): if weight tensor is provided it should have the "
        "same shape as the input tensor, but got input ",
        self.sizes(),
        " and weight ",
        weight->sizes());
  }
}

// Of each element of the flat tensor, the bin that it lies in, or `bins` if in
// none; the last one's upper edge belongs to it.
Tensor bins_of(const Tensor& flat, const Tensor& edges, int64_t bins) {
  const Tensor low = edges.select(0, 0);
  const Tensor high = edges.select(0, bins);
  const Tensor inside = flat.ge(low).logical_and_(flat.le(high));
  const Tensor place =
      at::searchsorted(edges, flat, /*out_int32=*/false, /*right=*/true)
          .sub_(1)
          .clamp_max_(bins - 1);
  return place.masked_fill_(inside.logical_not_(), bins);
}

Tensor weigh_bins(
    const Tensor& self,
    const Tensor& given_edges,
    const MaybeTensor& weight,
    bool density) {
  check_inputs(self, weight, given_edges);
  const Tensor edges = given_edges.contiguous();
  const int64_t bins = edges.numel() - 1;
  Tensor made = make_dense({bins}, self.scalar_type()).zero_();
  if (self.numel() != 0) {
    const Tensor places = bins_of(self.reshape({-1}), edges, bins);
    const bool weighted = weight.has_value() && weight->defined();
    made.copy_(
        weighted ? weights_of(places, weight->reshape({-1}), bins + 1)
                       .narrow(0, 0, bins)
                 : counts_of(sorted_along(places, 0).values, bins));
  }
  if (density) {
    made.div_(made.sum())
        .div_(edges.narrow(0, 1, bins).sub(edges.narrow(0, 0, bins)));
  }
  return made;
}

// Of `bins` equal parts; without a range of the tensor's own, which waits.
Tensor edges_of(const Tensor& self, int64_t bins, const Range& range) {
  TORCH_CHECK(bins > 0, "torch.histogram(): bins must be > 0, but got ", bins);
  double low = 0;
  double high = 0;
  if (range.has_value()) {
    TORCH_CHECK(
        range->size() == 2,
        "torch.histogram(): range should have 2 elements, but got ",
        range->size());
    low = (*range)[0];
    high = (*range)[1];
  } else if (self.numel() > 0) {
    const auto ends = at::aminmax(self);
    low = std::get<0>(ends).item().toDouble();
    high = std::get<1>(ends).item().toDouble();
  } else {
    high = 1;
  }
  TORCH_CHECK(
      std::isfinite(low) && std::isfinite(high),
      "torch.histogram(): range [",
      low,
      ", ",
      high,
      "] is not finite");
  TORCH_CHECK(
      low <= high,
      "torch.histogram(): min should not exceed max, but got min ",
      low,
      " max ",
      high);
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  return at::linspace(low, high, bins + 1, self.options());
}

Two by_edges(
    const Tensor& self,
    const Tensor& edges,
    const MaybeTensor& weight,
    bool density) {
  const runtime::DeviceScope scope(self.device());
  return {weigh_bins(self, edges, weight, density), edges.clone()};
}

Two by_count(
    const Tensor& self,
    int64_t bins,
    Range range,
    const MaybeTensor& weight,
    bool density) {
  const runtime::DeviceScope scope(self.device());
  Tensor edges = edges_of(self, bins, range);
  Tensor made = weigh_bins(self, edges, weight, density);
  return {std::move(made), std::move(edges)};
}

TwoOut deliver(const Two& made, Tensor& hist, Tensor& edges) {
  check_out(hist, std::get<0>(made).scalar_type(), std::get<0>(made));
  check_out(edges, std::get<1>(made).scalar_type(), std::get<1>(made));
  at::native::resize_output(hist, std::get<0>(made).sizes());
  at::native::resize_output(edges, std::get<1>(made).sizes());
  hist.copy_(std::get<0>(made));
  edges.copy_(std::get<1>(made));
  return {hist, edges};
}

TwoOut by_edges_out(
    const Tensor& self,
    const Tensor& given,
    const MaybeTensor& weight,
    bool density,
    Tensor& hist,
    Tensor& edges) {
  return deliver(by_edges(self, given, weight, density), hist, edges);
}

TwoOut by_count_out(
    const Tensor& self,
    int64_t bins,
    Range range,
    const MaybeTensor& weight,
    bool density,
    Tensor& hist,
    Tensor& edges) {
  return deliver(by_count(self, bins, range, weight, density), hist, edges);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&by_edges>("histogram.bins_tensor");
  r.native<&by_edges_out>("histogram.bins_tensor_out");
  r.native<&by_count>("histogram.bin_ct");
  r.native<&by_count_out>("histogram.bin_ct_out");
}

} // namespace

} // namespace torch_fl::ops
