// SPDX-License-Identifier: Apache-2.0
// Reductions: sums, products, extrema, truth.
#include "csrc/ops/reduce.h"

#include <ATen/ops/all_meta.h>
#include <ATen/ops/amax_meta.h>
#include <ATen/ops/amin_meta.h>
#include <ATen/ops/any_meta.h>
#include <ATen/ops/mean_meta.h>
#include <ATen/ops/prod_meta.h>
#include <ATen/ops/sum_meta.h>
#include <ATen/ops/view_as_real.h>

#include <limits>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::DimMask;
using mudnn::ReduceMode;
using OptDtype = std::optional<at::ScalarType>;

template <class Meta, ReduceMode mode>
struct Total : Meta {
  static constexpr double kEmpty =
      mode == ReduceMode::ADD ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  bool accepts(
      const Tensor& self,
      at::OptionalIntArrayRef /*dim*/,
      bool /*keepdim*/,
      const OptDtype& dtype) {
    const Tensor& out = this->maybe_get_output(0);
    return is_complex(self, out) ||
        (known(self) && real_dtype(dtype) && known(out));
  }
  void impl(
      const Tensor& self,
      at::OptionalIntArrayRef dim,
      bool /*keepdim*/,
      OptDtype /*dtype*/,
      const Tensor& out) {
    const DimMask dims = dim_mask(self, dim);
    if (out.is_complex() && self.dim() == 0) {
      out.copy_(self);
    } else if (out.is_complex()) {
      // Both parts are summed beside each other.
      total(
          at::view_as_real(self.to(out.scalar_type()).resolve_conj()),
          at::view_as_real(out),
          dims,
          mode,
          kEmpty);
    } else {
      total(self, out, dims, mode, kEmpty);
    }
  }

 private:
  static bool is_complex(const Tensor& self, const Tensor& out) {
    const auto pair = [](const Tensor& t) {
      return t.scalar_type() == at::kComplexFloat ||
          t.scalar_type() == at::kComplexDouble;
    };
    return pair(self) && pair(out);
  }
};
using Sum = Total<at::meta::structured_sum_dim_IntList, ReduceMode::ADD>;
using Mean = Total<at::meta::structured_mean_dim, ReduceMode::MEAN>;

// The sum of everything: the quick road of loss.sum() and the like.
Tensor sum(const Tensor& self, OptDtype dtype) {
  if (!dense_here(self) || !plain_float(self.scalar_type()) ||
      (dtype.has_value() && *dtype != self.scalar_type()) ||
      self.numel() == 0) {
    return FormsOf<Sum>::functional(
        self,
        at::OptionalIntArrayRef(at::IntArrayRef{}),
        false,
        dtype);
  }
  const runtime::DeviceScope scope(self.device());
  const at::ScalarType type = self.scalar_type();
  Tensor out = make_dense({}, type);
  if (accumulates_in(type) == type) {
    mudnn::reduce_dense(out, self, ReduceMode::ADD);
  } else {
    mudnn::reduce(
        out,
        self,
        every_dim(self),
        ReduceMode::ADD,
        accumulates_in(type));
  }
  return out;
}

// Mode MUL answers SUCCESS and writes zeros (quirk 30): PROD it is.
struct Prod : at::meta::structured_prod_dim_int {
  bool accepts(
      const Tensor& self,
      int64_t /*dim*/,
      bool /*keepdim*/,
      const OptDtype& dtype) {
    return known(self) && real_dtype(dtype) && known(maybe_get_output(0));
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      bool /*keepdim*/,
      OptDtype /*dtype*/,
      const Tensor& out) {
    DimMask mask;
    mask.set(static_cast<size_t>(at::maybe_wrap_dim(dim, self.dim())));
    total(self, out, mask, ReduceMode::PROD, 1);
  }
};

Tensor prod(const Tensor& self, OptDtype dtype) {
  if (!known(self) || !real_dtype(dtype)) {
    return routing::ToCpuByName<Tensor(const Tensor&, OptDtype)>::call(
        "prod",
        self,
        dtype);
  }
  const runtime::DeviceScope scope(self.device());
  const at::ScalarType type = dtype.value_or(
      c10::isIntegralType(self.scalar_type(), /*includeBool=*/true)
          ? at::kLong
          : self.scalar_type());
  Tensor out = make_dense({}, type);
  total(self, out, every_dim(self), ReduceMode::PROD, 1);
  return out;
}

// Truth: AND and OR want BOOL (quirk 33).
template <class Meta, bool any>
struct Truth : Meta {
  template <class... A>
  bool accepts(const Tensor& self, const A&... /*dims*/) {
    return known(self);
  }
  void impl(const Tensor& self, const Tensor& out) {
    run(self, every_dim(self), out);
  }
  void run(const Tensor& self, const DimMask& dims, const Tensor& out) {
    if (!is_trivial(self, out, any ? 0 : 1)) {
      mudnn::reduce(
          out,
          self,
          dims,
          any ? ReduceMode::OR : ReduceMode::AND,
          at::kBool);
    }
  }
};
template <class Meta, bool any>
struct TruthDim : Truth<Meta, any> {
  void
  impl(const Tensor& self, int64_t dim, bool /*keepdim*/, const Tensor& out) {
    DimMask mask;
    mask.set(static_cast<size_t>(at::maybe_wrap_dim(dim, self.dim())));
    this->run(self, mask, out);
  }
};
template <class Meta, bool any>
struct TruthDims : Truth<Meta, any> {
  void impl(
      const Tensor& self,
      at::OptionalIntArrayRef dims,
      bool /*keepdim*/,
      const Tensor& out) {
    // Here, and only here, an empty list means none.
    this->run(
        self,
        dims.has_value() && dims->empty() ? DimMask() : dim_mask(self, dims),
        out);
  }
};

template <class Meta, ReduceMode mode>
struct Extreme : Meta {
  bool accepts(const Tensor& self, at::IntArrayRef, bool /*keepdim*/) {
    return known(self);
  }
  void impl(
      const Tensor& self,
      at::IntArrayRef dim,
      bool /*keepdim*/,
      const Tensor& out) {
    if (!is_trivial(self, out, 0)) {
      mudnn::reduce(
          out,
          self,
          dim_mask(self, dim),
          mode,
          accumulates_in(self.scalar_type()));
    }
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  r.native<&sum>("sum");
  structured<Sum>(r, "sum.dim_IntList", nullptr, "sum.IntList_out");
  structured<Mean>(r, "mean.dim", nullptr, "mean.out");
  r.native<&prod>("prod");
  structured<Prod>(r, "prod.dim_int", nullptr, "prod.int_out");
  structured<Truth<meta::structured_any, true>>(
      r,
      "any",
      nullptr,
      "any.all_out");
  structured<TruthDim<meta::structured_any_dim, true>>(
      r,
      "any.dim",
      nullptr,
      "any.out");
  structured<TruthDims<meta::structured_any_dims, true>>(
      r,
      "any.dims",
      nullptr,
      "any.dims_out");
  structured<Truth<meta::structured_all, false>>(
      r,
      "all",
      nullptr,
      "all.all_out");
  structured<TruthDim<meta::structured_all_dim, false>>(
      r,
      "all.dim",
      nullptr,
      "all.out");
  structured<TruthDims<meta::structured_all_dims, false>>(
      r,
      "all.dims",
      nullptr,
      "all.dims_out");
  structured<Extreme<meta::structured_amax, ReduceMode::MAX>>(
      r,
      "amax",
      nullptr,
      "amax.out");
  structured<Extreme<meta::structured_amin, ReduceMode::MIN>>(
      r,
      "amin",
      nullptr,
      "amin.out");
}

} // namespace

} // namespace torch_fl::ops
