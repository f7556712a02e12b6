// SPDX-License-Identifier: Apache-2.0
// Functions of two tensors that muDNN has no mode for.
#include "csrc/ops/math.h"
#include "csrc/ops/structured.h"
#include "csrc/runtime/torch_version.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/ops/atan2_meta.h>
#include <ATen/ops/copysign_meta.h>
#include <ATen/ops/fmax_meta.h>
#include <ATen/ops/fmin_meta.h>
#include <ATen/ops/gcd_meta.h>
#include <ATen/ops/heaviside_meta.h>
#include <ATen/ops/hypot_meta.h>
#include <ATen/ops/lcm_meta.h>
#include <ATen/ops/logaddexp2_meta.h>
#include <ATen/ops/logaddexp_meta.h>
#include <ATen/ops/nextafter_meta.h>
#include <ATen/ops/special_xlog1py_meta.h>
#include <ATen/ops/special_zeta_meta.h>
#include <ATen/ops/xlogy_meta.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;

enum class Of { kFloats, kIntegers, kAll };

bool takes(Of of, at::ScalarType type) {
  return (of != Of::kIntegers && kernel_float(type)) ||
      (of != Of::kFloats && kernel_integer(type));
}

template <class Meta, FlBinary op, Of of = Of::kFloats>
struct Math : Meta {
  bool accepts(const Tensor& /*self*/, const Tensor& /*other*/) {
    return takes(of, this->common_dtype()) && fits_kernel(*this);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*other*/, const Tensor&) {
    compute(*this, this->common_dtype(), op);
  }
};

// No common factors of truth values.
template <class Meta, FlBinary op>
struct Divisors : Math<Meta, op, Of::kIntegers> {
  bool accepts(const Tensor& self, const Tensor& other) {
    return this->common_dtype() != at::kBool &&
        Math<Meta, op, Of::kIntegers>::accepts(self, other);
  }
};

// No common dtype upstream: both have the same.
struct Heaviside : at::meta::structured_heaviside {
  bool accepts(const Tensor& self, const Tensor& /*values*/) {
    return has_kernel_type(self.scalar_type()) && fits_kernel(*this);
  }
  void impl(const Tensor& self, const Tensor& /*values*/, const Tensor&) {
    compute(*this, self.scalar_type(), kFlHeaviside);
  }
};

struct Nextafter : at::meta::structured_nextafter {
  bool accepts(const Tensor& /*self*/, const Tensor& /*other*/) {
    return kernel_float(common_dtype()) && fits_kernel(*this);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*other*/, const Tensor&) {
    compute_nextafter(*this);
  }
};

#if FL_TORCH_GE(2, 11)
// What torch's own ldexp of floats by integers calls.
void ldexp_kernel(at::TensorIteratorBase& iter) {
  compute(iter, iter.dtype(1), kFlLdexp);
}
#endif

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  namespace meta = at::meta;
  structured<Math<meta::structured_atan2, kFlAtan2>>(
      r,
      "atan2",
      "atan2_",
      "atan2.out");
  structured<Math<meta::structured_copysign_Tensor, kFlCopysign>>(
      r,
      "copysign.Tensor",
      "copysign_.Tensor",
      "copysign.out");
  structured<Math<meta::structured_fmax, kFlFmax, Of::kAll>>(
      r,
      "fmax",
      nullptr,
      "fmax.out");
  structured<Math<meta::structured_fmin, kFlFmin, Of::kAll>>(
      r,
      "fmin",
      nullptr,
      "fmin.out");
  structured<Divisors<meta::structured_gcd, kFlGcd>>(
      r,
      "gcd",
      "gcd_",
      "gcd.out");
  structured<Divisors<meta::structured_lcm, kFlLcm>>(
      r,
      "lcm",
      "lcm_",
      "lcm.out");
  structured<Heaviside>(r, "heaviside", "heaviside_", "heaviside.out");
  structured<Math<meta::structured_hypot, kFlHypot>>(
      r,
      "hypot",
      "hypot_",
      "hypot.out");
  structured<Math<meta::structured_logaddexp, kFlLogaddexp>>(
      r,
      "logaddexp",
      nullptr,
      "logaddexp.out");
  structured<Math<meta::structured_logaddexp2, kFlLogaddexp2>>(
      r,
      "logaddexp2",
      nullptr,
      "logaddexp2.out");
  structured<Nextafter>(r, "nextafter", "nextafter_", "nextafter.out");
  structured<Math<meta::structured_special_xlog1py, kFlXlog1py>>(
      r,
      "special_xlog1py",
      nullptr,
      "special_xlog1py.out");
  structured<Math<meta::structured_special_zeta, kFlZeta>>(
      r,
      "special_zeta",
      nullptr,
      "special_zeta.out");
  structured<Math<meta::structured_xlogy_Tensor, kFlXlogy>>(
      r,
      "xlogy.Tensor",
      "xlogy_.Tensor",
      "xlogy.OutTensor");
}

} // namespace

} // namespace torch_fl::ops

#if FL_TORCH_GE(2, 11)
namespace at::native {

REGISTER_PRIVATEUSE1_DISPATCH(ldexp_stub, &torch_fl::ops::ldexp_kernel)

} // namespace at::native
#endif
