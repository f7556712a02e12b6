// SPDX-License-Identifier: Apache-2.0
// Products: mm, bmm, their sums, matrix by vector, dot.
#include "csrc/mudnn/matmul.h"
#include "csrc/ops/output.h"
#include "csrc/ops/structured.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ops/_addmm_activation_meta.h>
#include <ATen/ops/addmm_meta.h>
#include <ATen/ops/addmv_meta.h>
#include <ATen/ops/baddbmm_meta.h>
#include <ATen/ops/bmm_meta.h>
#include <ATen/ops/dot_ops.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mm_meta.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/vdot_ops.h>

namespace torch_fl::ops {

namespace {

using at::Scalar;
using at::Tensor;

// Upstream's metas leave this to the kernels.
void check_dtypes(const Tensor& a, const Tensor& b) {
  TORCH_CHECK(
      a.scalar_type() == b.scalar_type(),
      "expected m1 and m2 to have the same dtype, but got: ",
      a.dtype(),
      " != ",
      b.dtype());
}

void check_addend(const Tensor& self, const Tensor& out) {
  TORCH_CHECK(
      self.scalar_type() == out.scalar_type(),
      "expected self and the product to have the same dtype, but got: ",
      self.dtype(),
      " != ",
      out.dtype());
}

// Integers take integral factors only, as on the CPU.
void check_factors(const Tensor& a, const Scalar& beta, const Scalar& alpha) {
  if (c10::isIntegralType(a.scalar_type(), true)) {
    TORCH_CHECK(
        alpha.isIntegral(true),
        "For integral input tensors, argument alpha must not be a floating "
        "point number.");
    TORCH_CHECK(
        beta.isIntegral(true),
        "For integral input tensors, argument beta must not be a floating "
        "point number.");
  }
}

void add_product(
    const Tensor& out,
    const Tensor& self,
    const Tensor& a,
    const Tensor& b,
    const Scalar& beta,
    const Scalar& alpha) {
  check_dtypes(a, b);
  check_addend(self, out);
  check_factors(a, beta, alpha);
  mudnn::matmul_add(out, self, a, b, beta, alpha);
}

struct Mm : at::meta::structured_mm {
  static bool accepts(const Tensor& self, const Tensor& /*mat2*/) {
    return mudnn::can_multiply(self.scalar_type());
  }
  void impl(const Tensor& self, const Tensor& mat2, const Tensor& out) {
    check_dtypes(self, mat2);
    mudnn::matmul(out, self, mat2);
  }
};

// The quick road of the most frequent call: what upstream's meta would accept
// without a word skips it.
Tensor mm(const Tensor& self, const Tensor& mat2) {
  const c10::TensorImpl* const a = self.unsafeGetTensorImpl();
  const c10::TensorImpl* const b = mat2.unsafeGetTensorImpl();
  const at::ScalarType type = self.scalar_type();
  if (c10::isFloatingType(type) && type == mat2.scalar_type() &&
      mudnn::can_multiply(type) && a->device().is_privateuseone() &&
      a->device() == b->device() && a->dim() == 2 && b->dim() == 2) {
    const int64_t rows = a->sizes()[0];
    const int64_t inner = a->sizes()[1];
    const int64_t columns = b->sizes()[1];
    if (inner == b->sizes()[0] && rows > 0 && inner > 0 && columns > 0) {
      const runtime::DeviceScope scope(a->device());
      const int64_t sizes[2] = {rows, columns};
      Tensor out = make_dense(sizes, type);
      mudnn::matmul_into_new(out, self, mat2);
      return out;
    }
  }
  return FormsOf<Mm>::functional(self, mat2);
}

struct Bmm : at::meta::structured_bmm {
  static bool accepts(const Tensor& self, const Tensor& /*mat2*/) {
    return mudnn::can_multiply(self.scalar_type());
  }
  void impl(const Tensor& self, const Tensor& mat2, const Tensor& out) {
    check_dtypes(self, mat2);
    mudnn::matmul(out, self, mat2);
  }
};

// addmm and baddbmm: the same arguments and the same rule.
template <class Meta>
struct AddProduct : Meta {
  static bool accepts(
      const Tensor& /*self*/,
      const Tensor& a,
      const Tensor& /*b*/,
      const Scalar& /*beta*/,
      const Scalar& /*alpha*/) {
    return mudnn::can_multiply(a.scalar_type());
  }
  void impl(
      const Tensor& self,
      const Tensor& a,
      const Tensor& b,
      const Scalar& beta,
      const Scalar& alpha,
      const Tensor& out) {
    add_product(out, self, a, b, beta, alpha);
  }
};
using Addmm = AddProduct<at::meta::structured_addmm>;
using Baddbmm = AddProduct<at::meta::structured_baddbmm>;

// A vector is a matrix of one column.
struct Addmv : at::meta::structured_addmv {
  static bool accepts(
      const Tensor& /*self*/,
      const Tensor& mat,
      const Tensor& /*vec*/,
      const Scalar& /*beta*/,
      const Scalar& /*alpha*/) {
    return mudnn::can_multiply(mat.scalar_type());
  }
  void impl(
      const Tensor& self,
      const Tensor& mat,
      const Tensor& vec,
      const Scalar& beta,
      const Scalar& alpha,
      const Tensor& out) {
    const Tensor result = out.unsqueeze(1);
    const bool same = out.is_same(self);
    const Tensor addend =
        same ? result : (self.dim() == 1 ? self.unsqueeze(1) : self);
    add_product(result, addend, mat, vec.unsqueeze(1), beta, alpha);
  }
};

struct AddmmActivation : at::meta::structured__addmm_activation {
  static bool accepts(
      const Tensor& /*self*/,
      const Tensor& a,
      const Tensor& /*b*/,
      const Scalar& /*beta*/,
      const Scalar& /*alpha*/,
      bool /*use_gelu*/) {
    return mudnn::can_multiply(a.scalar_type());
  }
  void impl(
      const Tensor& self,
      const Tensor& a,
      const Tensor& b,
      const Scalar& beta,
      const Scalar& alpha,
      bool use_gelu,
      const Tensor& out) {
    add_product(out, self, a, b, beta, alpha);
    Tensor result = out;
    use_gelu ? at::gelu_(result) : at::relu_(result);
  }
};

void check_dot(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(
      self.dim() == 1 && other.dim() == 1,
      "1D tensors expected, but got ",
      self.dim(),
      "D and ",
      other.dim(),
      "D tensors");
  TORCH_CHECK(
      self.scalar_type() == other.scalar_type(),
      "dot : expected both vectors to have same dtype, but found ",
      self.scalar_type(),
      " and ",
      other.scalar_type());
  TORCH_CHECK(
      self.numel() == other.numel(),
      "inconsistent tensor size, expected tensor [",
      self.numel(),
      "] and src [",
      other.numel(),
      "] to have the same number of elements, but got ",
      self.numel(),
      " and ",
      other.numel(),
      " elements respectively");
  check_same_device(self, other);
}

Tensor dot_real(const Tensor& self, const Tensor& other) {
  check_dot(self, other);
  const runtime::DeviceScope scope(self.device());
  if (!mudnn::can_dot(self.scalar_type()) || self.numel() == 0) {
    return self.mul(other).sum(self.scalar_type());
  }
  Tensor out = make_dense({}, self.scalar_type());
  mudnn::dot(out, self, other);
  return out;
}

Tensor dot(const Tensor& self, const Tensor& other) {
  if (!mudnn::can_multiply(self.scalar_type())) {
    return routing::to_cpu<at::_ops::dot>::call(self, other);
  }
  return dot_real(self, other);
}

Tensor vdot(const Tensor& self, const Tensor& other) {
  if (!mudnn::can_multiply(self.scalar_type())) {
    return routing::to_cpu<at::_ops::vdot>::call(self, other);
  }
  return dot_real(self, other);
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  FormsOf<Mm>::names = {"mm", "mm.out", nullptr};
  registrar.native<&mm>("mm");
  registrar.native<&FormsOf<Mm>::out>("mm.out");
  structured<Bmm>(registrar, "bmm", nullptr, "bmm.out");
  structured<Addmm>(registrar, "addmm", "addmm_", "addmm.out");
  structured<Baddbmm>(registrar, "baddbmm", "baddbmm_", "baddbmm.out");
  structured<Addmv>(registrar, "addmv", "addmv_", "addmv.out");
  structured<AddmmActivation>(
      registrar,
      "_addmm_activation",
      nullptr,
      "_addmm_activation.out");
  registrar.native<&dot>("dot");
  registrar.native<&vdot>("vdot");
}

} // namespace torch_fl::ops
