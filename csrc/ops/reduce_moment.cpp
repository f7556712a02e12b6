// SPDX-License-Identifier: Apache-2.0
// Reductions with powers: variances, deviations, norms.
#include "csrc/ops/reduce.h"

#include <ATen/ops/linalg_vector_norm_meta.h>

#include <cmath>
#include <limits>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::DimMask;
using mudnn::Number;
using mudnn::ReduceMode;
using OptDtype = std::optional<at::ScalarType>;

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
