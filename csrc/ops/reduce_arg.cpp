// SPDX-License-Identifier: Apache-2.0
// Extrema with their places.
#include "csrc/ops/reduce.h"

#include <ATen/ops/aminmax_meta.h>
#include <ATen/ops/argmax_meta.h>
#include <ATen/ops/argmin_meta.h>
#include <ATen/ops/max_meta.h>
#include <ATen/ops/min_meta.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::DimMask;
using mudnn::ReduceMode;

Tensor flattened(const Tensor& self) {
  return self.dim() == 1 ? self : self.reshape({-1});
}

template <class Meta, ReduceMode mode>
struct ArgExtreme : Meta {
  bool accepts(
      const Tensor& self,
      std::optional<int64_t> /*dim*/,
      bool /*keepdim*/) {
    return known(self);
  }
  void impl(
      const Tensor& self,
      std::optional<int64_t> dim,
      bool /*keepdim*/,
      const Tensor& out) {
    if (out.numel() == 0) {
      return;
    }
    if (self.dim() == 0) {
      mudnn::fill(out, mudnn::Number(int64_t{0}));
      return;
    }
    const Tensor source = dim.has_value() ? self : flattened(self);
    mudnn::reduce_with_indices(
        Tensor(),
        out,
        source,
        at::maybe_wrap_dim(dim.value_or(0), source.dim()),
        mode,
        accumulates_in(self.scalar_type()));
  }
};

template <class Meta, ReduceMode mode>
struct ExtremeDim : Meta {
  bool accepts(const Tensor& self, int64_t /*dim*/, bool /*keepdim*/) {
    return known(self);
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      bool /*keepdim*/,
      const Tensor& values,
      const Tensor& indices) {
    if (values.numel() == 0) {
      return;
    }
    if (self.dim() == 0) {
      values.copy_(self);
      mudnn::fill(indices, mudnn::Number(int64_t{0}));
      return;
    }
    mudnn::reduce_with_indices(
        values,
        indices,
        self,
        at::maybe_wrap_dim(dim, self.dim()),
        mode,
        accumulates_in(self.scalar_type()));
  }
};

template <ReduceMode mode>
struct Whole {
  static constexpr bool kMax = mode == ReduceMode::MAX;

  static void check(const Tensor& self) {
    TORCH_CHECK(
        self.numel() > 0,
        kMax ? "max" : "min",
        "(): Expected reduction dim to be specified for input.numel() == 0. "
        "Specify the reduction dim with the 'dim' argument.");
  }

  static Tensor functional(const Tensor& self) {
    check(self);
    if (!known(self)) {
      return routing::ToCpuByName<Tensor(const Tensor&)>::call(
          kMax ? "max" : "min",
          self);
    }
    const runtime::DeviceScope scope(self.device());
    Tensor made = make_dense({}, self.scalar_type());
    mudnn::reduce(
        made,
        self,
        every_dim(self),
        mode,
        accumulates_in(self.scalar_type()));
    return made;
  }

  static Tensor& out(const Tensor& self, Tensor& out) {
    check(self);
    check_same_device(self, out);
    if (!known(self) || !known(out)) {
      return routing::ToCpuByName<Tensor&(const Tensor&, Tensor&)>::call(
          kMax ? "max.unary_out" : "min.unary_out",
          self,
          out);
    }
    TORCH_CHECK(
        at::canCast(self.scalar_type(), out.scalar_type()),
        "result type ",
        self.scalar_type(),
        " can't be cast to the desired output type ",
        out.scalar_type());
    const runtime::DeviceScope scope(self.device());
    at::native::resize_output(out, {});
    mudnn::reduce(
        out,
        self,
        every_dim(self),
        mode,
        accumulates_in(self.scalar_type()));
    return out;
  }
};

struct AMinMax : at::meta::structured_aminmax {
  bool accepts(
      const Tensor& self,
      std::optional<int64_t> /*dim*/,
      bool /*keepdim*/) {
    return known(self);
  }
  void impl(
      const Tensor& self,
      std::optional<int64_t> dim,
      bool /*keepdim*/,
      const Tensor& min,
      const Tensor& max) {
    if (min.numel() == 0) {
      return;
    }
    DimMask mask;
    if (dim.has_value() && self.dim() != 0) {
      mask.set(static_cast<size_t>(at::maybe_wrap_dim(*dim, self.dim())));
    } else {
      mask = every_dim(self);
    }
    const at::ScalarType type = accumulates_in(self.scalar_type());
    mudnn::reduce(min, self, mask, ReduceMode::MIN, type);
    mudnn::reduce(max, self, mask, ReduceMode::MAX, type);
  }
};

using Max = Whole<ReduceMode::MAX>;
using Min = Whole<ReduceMode::MIN>;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  structured<ArgExtreme<meta::structured_argmax, ReduceMode::MAX>>(
      r,
      "argmax",
      nullptr,
      "argmax.out");
  structured<ArgExtreme<meta::structured_argmin, ReduceMode::MIN>>(
      r,
      "argmin",
      nullptr,
      "argmin.out");
  structured<ExtremeDim<meta::structured_max_dim, ReduceMode::MAX>>(
      r,
      "max.dim",
      nullptr,
      "max.dim_max");
  structured<ExtremeDim<meta::structured_min_dim, ReduceMode::MIN>>(
      r,
      "min.dim",
      nullptr,
      "min.dim_min");
  structured<AMinMax>(r, "aminmax", nullptr, "aminmax.out");
  r.native<&Max::functional>("max");
  r.native<&Max::out>("max.unary_out");
  r.native<&Min::functional>("min");
  r.native<&Min::out>("min.unary_out");
}

} // namespace

} // namespace torch_fl::ops
