// SPDX-License-Identifier: Apache-2.0
// Functions of one tensor that muDNN has no mode for.
#include "csrc/ops/complex.h"
#include "csrc/ops/math.h"
#include "csrc/ops/structured.h"

#include <ATen/native/UnaryOps.h>
#include <ATen/ops/acosh_meta.h>
#include <ATen/ops/angle_native.h>
#include <ATen/ops/asin_meta.h>
#include <ATen/ops/asinh_meta.h>
#include <ATen/ops/atanh_meta.h>
#include <ATen/ops/cosh_meta.h>
#include <ATen/ops/digamma_meta.h>
#include <ATen/ops/erfc_meta.h>
#include <ATen/ops/erfinv_meta.h>
#include <ATen/ops/exp2_meta.h>
#include <ATen/ops/frac_meta.h>
#include <ATen/ops/i0_meta.h>
#include <ATen/ops/lgamma_meta.h>
#include <ATen/ops/logit_native.h>
#include <ATen/ops/mvlgamma_native.h>
#include <ATen/ops/nan_to_num_native.h>
#include <ATen/ops/polygamma_meta.h>
#include <ATen/ops/round_meta.h>
#include <ATen/ops/signbit_meta.h>
#include <ATen/ops/sinc_meta.h>
#include <ATen/ops/sinh_meta.h>
#include <ATen/ops/special_entr_meta.h>
#include <ATen/ops/special_erfcx_meta.h>
#include <ATen/ops/special_i0e_meta.h>
#include <ATen/ops/special_i1_meta.h>
#include <ATen/ops/special_i1e_meta.h>
#include <ATen/ops/special_log_ndtr_meta.h>
#include <ATen/ops/special_ndtri_meta.h>
#include <ATen/ops/view_as_real.h>

#include <limits>

namespace torch_fl::ops {

namespace {

using at::Tensor;

template <class Meta, auto op>
struct Math : Meta {
  bool accepts(const Tensor& /*self*/) {
    return kernel_float(this->common_dtype()) && fits_kernel(*this);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*out*/) {
    compute(*this, this->common_dtype(), op);
  }
};

struct RoundTo : at::meta::structured_round_decimals {
  bool accepts(const Tensor& /*self*/, int64_t /*decimals*/) {
    return kernel_float(common_dtype()) && fits_kernel(*this);
  }
  void impl(const Tensor& /*self*/, int64_t decimals, const Tensor& /*out*/) {
    compute(*this, common_dtype(), kFlRoundTo, math_numbers({decimals}));
  }
};

struct Polygamma : at::meta::structured_polygamma {
  bool accepts(int64_t /*n*/, const Tensor& /*self*/) {
    return kernel_float(common_dtype()) && fits_kernel(*this);
  }
  void impl(int64_t n, const Tensor& /*self*/, const Tensor& /*out*/) {
    if (n == 0) {
      compute(*this, common_dtype(), kFlDigamma);
    } else {
      compute(*this, common_dtype(), kFlPolygamma, math_numbers({n}));
    }
  }
};

struct Signbit : at::meta::structured_signbit {
  bool accepts(const Tensor& self) {
    return has_kernel_type(self.scalar_type()) && fits_kernel(*this) &&
        dtype(0) == at::kBool;
  }
  void impl(const Tensor& self, const Tensor& /*out*/) {
    compute_signbit(*this, self.scalar_type());
  }
};

// What torch's own functions without a structured class call.
void angle_kernel(at::TensorIteratorBase& iter) {
  if (computes_complex(iter, iter.dtype(1))) {
    compute_complex(iter, iter.dtype(1), ComplexTo::kAngle);
    return;
  }
  require_floats("angle", iter.common_dtype());
  compute(iter, iter.common_dtype(), kFlAngle);
}

void logit_kernel(at::TensorIteratorBase& iter, const at::Scalar& epsilon) {
  require_floats("logit", iter.common_dtype());
  compute(iter, iter.common_dtype(), kFlLogit, math_numbers({epsilon}));
}

// The largest finite number, or the least, stands for an infinity.
double largest(at::ScalarType type) {
  switch (type) {
  case at::kHalf:
    return std::numeric_limits<at::Half>::max();
  case at::kBFloat16:
    return std::numeric_limits<at::BFloat16>::max();
  case at::kFloat:
    return std::numeric_limits<float>::max();
  default:
    return std::numeric_limits<double>::max();
  }
}

void nan_to_num_kernel(
    at::TensorIteratorBase& iter,
    std::optional<double> nan,
    std::optional<double> highest,
    std::optional<double> lowest) {
  if (c10::isComplexType(iter.dtype(0))) {
    at::TensorIterator parts = iterator_over(
        at::view_as_real(iter.tensor(0)),
        {at::view_as_real(iter.tensor(1))});
    nan_to_num_kernel(parts, nan, highest, lowest);
    return;
  }
  const at::ScalarType type = iter.dtype(0);
  require_floats("nan_to_num", type);
  const double most = largest(type);
  compute(
      iter,
      type,
      kFlNanToNum,
      math_numbers(
          {nan.value_or(0), highest.value_or(most), lowest.value_or(-most)}));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  structured<Math<meta::structured_acosh, kFlAcosh>>(
      r,
      "acosh",
      "acosh_",
      "acosh.out");
  structured<Math<meta::structured_asin, kFlAsin>>(
      r,
      "asin",
      "asin_",
      "asin.out");
  structured<Math<meta::structured_asinh, kFlAsinh>>(
      r,
      "asinh",
      "asinh_",
      "asinh.out");
  structured<Math<meta::structured_atanh, kFlAtanh>>(
      r,
      "atanh",
      "atanh_",
      "atanh.out");
  structured<Math<meta::structured_cosh, kFlCosh>>(
      r,
      "cosh",
      "cosh_",
      "cosh.out");
  structured<Math<meta::structured_exp2, kFlExp2>>(
      r,
      "exp2",
      "exp2_",
      "exp2.out");
  structured<Math<meta::structured_erfc, kFlErfc>>(
      r,
      "erfc",
      "erfc_",
      "erfc.out");
  structured<Math<meta::structured_frac, kFlFrac>>(
      r,
      "frac",
      "frac_",
      "frac.out");
  structured<Math<meta::structured_sinc, kFlSinc>>(
      r,
      "sinc",
      "sinc_",
      "sinc.out");
  structured<Math<meta::structured_sinh, kFlSinh>>(
      r,
      "sinh",
      "sinh_",
      "sinh.out");
  structured<RoundTo>(
      r,
      "round.decimals",
      "round_.decimals",
      "round.decimals_out");
  structured<Signbit>(r, "signbit", nullptr, "signbit.out");
  r.native<&at::native::angle>("angle");
  r.native<&at::native::angle_out>("angle.out");
  r.native<&at::native::logit>("logit");
  r.native<&at::native::logit_>("logit_");
  r.native<&at::native::logit_out>("logit.out");
  r.native<&at::native::nan_to_num>("nan_to_num");
  r.native<&at::native::nan_to_num_>("nan_to_num_");
  r.native<&at::native::nan_to_num_out>("nan_to_num.out");
}

// Special functions.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  structured<Math<meta::structured_digamma, kFlDigamma>>(
      r,
      "digamma",
      "digamma_",
      "digamma.out");
  structured<Math<meta::structured_erfinv, kFlErfinv>>(
      r,
      "erfinv",
      "erfinv_",
      "erfinv.out");
  structured<Math<meta::structured_i0, kFlI0>>(r, "i0", "i0_", "i0.out");
  structured<Math<meta::structured_lgamma, kFlLgamma>>(
      r,
      "lgamma",
      "lgamma_",
      "lgamma.out");
  structured<Math<meta::structured_special_entr, kFlEntr>>(
      r,
      "special_entr",
      nullptr,
      "special_entr.out");
  structured<Math<meta::structured_special_erfcx, kFlErfcx>>(
      r,
      "special_erfcx",
      nullptr,
      "special_erfcx.out");
  structured<Math<meta::structured_special_i0e, kFlI0e>>(
      r,
      "special_i0e",
      nullptr,
      "special_i0e.out");
  structured<Math<meta::structured_special_i1, kFlI1>>(
      r,
      "special_i1",
      nullptr,
      "special_i1.out");
  structured<Math<meta::structured_special_i1e, kFlI1e>>(
      r,
      "special_i1e",
      nullptr,
      "special_i1e.out");
  structured<Math<meta::structured_special_log_ndtr, kFlLogNdtr>>(
      r,
      "special_log_ndtr",
      nullptr,
      "special_log_ndtr.out");
  structured<Math<meta::structured_special_ndtri, kFlNdtri>>(
      r,
      "special_ndtri",
      nullptr,
      "special_ndtri.out");
  structured<Polygamma>(r, "polygamma", nullptr, "polygamma.out");
  r.native<&at::native::mvlgamma>("mvlgamma");
  r.native<&at::native::mvlgamma_>("mvlgamma_");
  r.native<&at::native::mvlgamma_out>("mvlgamma.out");
}

} // namespace

} // namespace torch_fl::ops

namespace at::native {

REGISTER_PRIVATEUSE1_DISPATCH(angle_stub, &torch_fl::ops::angle_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(logit_stub, &torch_fl::ops::logit_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(
    nan_to_num_stub,
    &torch_fl::ops::nan_to_num_kernel)

} // namespace at::native
