// SPDX-License-Identifier: Apache-2.0
// Reductions: sums, products, extrema, truth, moments, norms.
#include "csrc/mudnn/reduce.h"
#include "csrc/ops/elementwise.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/all_meta.h>
#include <ATen/ops/amax_meta.h>
#include <ATen/ops/amin_meta.h>
#include <ATen/ops/any_meta.h>
#include <ATen/ops/linalg_vector_norm_meta.h>
#include <ATen/ops/mean_meta.h>
#include <ATen/ops/prod_meta.h>
#include <ATen/ops/sum_meta.h>

#include <cmath>
#include <limits>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::DimMask;
using mudnn::Number;
using mudnn::ReduceMode;
using OptDtype = std::optional<at::ScalarType>;

DimMask every_dim(const Tensor& self) {
  DimMask mask;
  for (int64_t d = 0; d < self.dim(); ++d) {
    mask.set(static_cast<size_t>(d));
  }
  return mask;
}

// No list, or an empty one, means all.
DimMask dim_mask(const Tensor& self, at::OptionalIntArrayRef dims) {
  if (!dims.has_value() || dims->empty()) {
    return every_dim(self);
  }
  DimMask mask;
  for (const int64_t dim : *dims) {
    mask.set(static_cast<size_t>(at::maybe_wrap_dim(dim, self.dim())));
  }
  return mask;
}

// Half and bfloat16 lose digits where muDNN accumulates in them (quirk 35);
// small integers are not accepted by every mode (quirk 34).
at::ScalarType accumulates_in(at::ScalarType type) {
  if (type == at::kHalf || type == at::kBFloat16) {
    return at::kFloat;
  }
  return c10::isIntegralType(type, /*includeBool=*/true) ? at::kLong : type;
}

bool known(const Tensor& self, const Tensor* out = nullptr) {
  return mudnn::has_dnn_type(self.scalar_type()) &&
      (out == nullptr || mudnn::has_dnn_type(out->scalar_type()));
}

bool real_dtype(const OptDtype& dtype) {
  return !dtype.has_value() || mudnn::has_dnn_type(*dtype);
}

// Writes `empty` where nothing is reduced; true if that was all.
bool is_trivial(const Tensor& self, const Tensor& out, double empty) {
  if (out.numel() == 0) {
    return true;
  }
  if (self.numel() == 0) {
    mudnn::fill(out, Number(empty));
    return true;
  }
  return false;
}

void total(
    const Tensor& self,
    const Tensor& out,
    const DimMask& dims,
    ReduceMode mode,
    double empty) {
  if (!is_trivial(self, out, empty)) {
    mudnn::reduce(out, self, dims, mode, accumulates_in(out.scalar_type()));
  }
}

template <class Meta, ReduceMode mode>
struct Total : Meta {
  static constexpr double kEmpty =
      mode == ReduceMode::ADD ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  bool accepts(
      const Tensor& self,
      at::OptionalIntArrayRef /*dim*/,
      bool /*keepdim*/,
      const OptDtype& dtype) {
    return known(self) && real_dtype(dtype) && known(this->maybe_get_output(0));
  }
  void impl(
      const Tensor& self,
      at::OptionalIntArrayRef dim,
      bool /*keepdim*/,
      OptDtype /*dtype*/,
      const Tensor& out) {
    total(self, out, dim_mask(self, dim), mode, kEmpty);
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

int correction_of(const std::optional<at::Scalar>& correction) {
  return correction.has_value() ? static_cast<int>(correction->toLong()) : 1;
}

// Whether muDNN's VARIANCE answers what torch does: whole corrections, and
// more elements than that.
bool has_variance(
    const Tensor& self,
    const DimMask& dims,
    const std::optional<at::Scalar>& correction) {
  int64_t count = 1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (dims[static_cast<size_t>(d)]) {
      count *= self.size(d);
    }
  }
  const bool whole = !correction.has_value() ||
      (!correction->isComplex() &&
       correction->toDouble() == std::floor(correction->toDouble()));
  return plain_float(self.scalar_type()) && self.numel() != 0 && whole &&
      count > correction_of(correction);
}

at::DimVector
reduced_sizes(const Tensor& self, const DimMask& dims, bool keepdim) {
  at::DimVector sizes;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!dims[static_cast<size_t>(d)]) {
      sizes.push_back(self.size(d));
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

void moment(
    const Tensor& self,
    const Tensor& out,
    const DimMask& dims,
    ReduceMode mode,
    const std::optional<at::Scalar>& correction) {
  mudnn::ReduceOptions options;
  options.correction = correction_of(correction);
  mudnn::reduce(
      out,
      self,
      dims,
      mode,
      accumulates_in(self.scalar_type()),
      options);
}

using OptScalar = const std::optional<at::Scalar>&;

template <ReduceMode mode>
struct Moment {
  static constexpr bool kVariance = mode == ReduceMode::VARIANCE;

  static Tensor functional(
      const Tensor& self,
      at::OptionalIntArrayRef dim,
      OptScalar correction,
      bool keepdim) {
    const DimMask dims = dim_mask(self, dim);
    if (!has_variance(self, dims, correction)) {
      return routing::ToCpuByName<
          Tensor(const Tensor&, at::OptionalIntArrayRef, OptScalar, bool)>::
          call(
              kVariance ? "var.correction" : "std.correction",
              self,
              dim,
              correction,
              keepdim);
    }
    const runtime::DeviceScope scope(self.device());
    Tensor out =
        make_dense(reduced_sizes(self, dims, keepdim), self.scalar_type());
    moment(self, out, dims, mode, correction);
    return out;
  }

  static Tensor& out(
      const Tensor& self,
      at::OptionalIntArrayRef dim,
      OptScalar correction,
      bool keepdim,
      Tensor& out) {
    const DimMask dims = dim_mask(self, dim);
    check_same_device(self, out);
    if (!has_variance(self, dims, correction) ||
        !plain_float(out.scalar_type())) {
      return routing::ToCpuByName<Tensor&(
          const Tensor&,
          at::OptionalIntArrayRef,
          OptScalar,
          bool,
          Tensor&)>::
          call(
              kVariance ? "var.correction_out" : "std.correction_out",
              self,
              dim,
              correction,
              keepdim,
              out);
    }
    const runtime::DeviceScope scope(self.device());
    at::native::resize_output(out, reduced_sizes(self, dims, keepdim));
    moment(self, out, dims, mode, correction);
    return out;
  }

  static std::tuple<Tensor, Tensor> with_mean(
      const Tensor& self,
      at::OptionalIntArrayRef dim,
      OptScalar correction,
      bool keepdim) {
    const DimMask dims = dim_mask(self, dim);
    if (!has_variance(self, dims, correction)) {
      return routing::ToCpuByName<std::tuple<
          Tensor,
          Tensor>(const Tensor&, at::OptionalIntArrayRef, OptScalar, bool)>::
          call(
              kVariance ? "var_mean.correction" : "std_mean.correction",
              self,
              dim,
              correction,
              keepdim);
    }
    const runtime::DeviceScope scope(self.device());
    Tensor spread =
        make_dense(reduced_sizes(self, dims, keepdim), self.scalar_type());
    Tensor mean = make_dense_like(spread);
    moment(self, spread, dims, mode, correction);
    total(self, mean, dims, ReduceMode::MEAN, 0);
    return {spread, mean};
  }
};

// The order 0 and the infinite ones are not provided (quirk 32).
struct VectorNorm : at::meta::structured_linalg_vector_norm {
  bool accepts(
      const Tensor& self,
      const at::Scalar& /*ord*/,
      at::OptionalIntArrayRef /*dim*/,
      bool /*keepdim*/,
      const OptDtype& dtype) {
    return plain_float(self.scalar_type()) &&
        (!dtype.has_value() || plain_float(*dtype));
  }
  void impl(
      const Tensor& self,
      const at::Scalar& ord,
      at::OptionalIntArrayRef dim,
      bool /*keepdim*/,
      OptDtype dtype,
      const Tensor& out) {
    const double order = ord.toDouble();
    if (is_trivial(
            self,
            out,
            order < 0 ? std::numeric_limits<double>::infinity() : 0)) {
      return;
    }
    const DimMask dims = dim_mask(self, dim);
    const at::ScalarType type =
        accumulates_in(dtype.value_or(self.scalar_type()));
    if (std::isinf(order)) {
      const Tensor size = make_dense(self.sizes(), self.scalar_type());
      mudnn::unary_tensor(size, self, mudnn::UnaryMode::ABS);
      mudnn::reduce(
          out,
          size,
          dims,
          order > 0 ? ReduceMode::MAX : ReduceMode::MIN,
          type);
    } else if (order == 0) {
      const Tensor counts = make_dense(self.sizes(), at::kBool);
      mudnn::unary_tensor(
          counts,
          self,
          mudnn::UnaryMode::NE,
          Number(int64_t{0}));
      mudnn::reduce(out, counts, dims, ReduceMode::ADD, type);
    } else {
      mudnn::ReduceOptions options;
      options.order = static_cast<float>(order);
      mudnn::reduce(out, self, dims, ReduceMode::NORM, type, options);
    }
  }
};

using Var = Moment<ReduceMode::VARIANCE>;
using Std = Moment<ReduceMode::STD>;

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
  r.native<&Var::functional>("var.correction");
  r.native<&Var::out>("var.correction_out");
  r.native<&Var::with_mean>("var_mean.correction");
  r.native<&Std::functional>("std.correction");
  r.native<&Std::out>("std.correction_out");
  r.native<&Std::with_mean>("std_mean.correction");
  structured<VectorNorm>(
      r,
      "linalg_vector_norm",
      nullptr,
      "linalg_vector_norm.out");
}

} // namespace

} // namespace torch_fl::ops
