// SPDX-License-Identifier: Apache-2.0
// Operators made of others that are native: each is one line of mathematics.
#include "csrc/ops/elementwise.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ExpandUtils.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/norm_except_dim.h>
#include <ATen/ops/norm_meta.h>
#include <ATen/ops/renorm_meta.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>

#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Tensor;

Tensor trace(const Tensor& self) {
  TORCH_CHECK(
      self.dim() == 2,
      "trace: expected a matrix, but got tensor with dim ",
      self.dim());
  return at::sum(self.diagonal());
}

Tensor count_nonzero(const Tensor& self, at::IntArrayRef dims) {
  return at::sum(
      self.scalar_type() == at::kBool ? self : self.ne(0),
      dims,
      /*keepdim=*/false,
      at::kLong);
}

void warn_once() {
  TORCH_WARN_ONCE(
      "_aminmax is deprecated as of PyTorch 1.11 and will be removed in a "
      "future release. Use aminmax instead. This warning will only appear once "
      "per process.");
}

std::tuple<Tensor, Tensor> aminmax(const Tensor& self) {
  warn_once();
  return at::aminmax(self);
}

std::tuple<Tensor, Tensor>
aminmax_dim(const Tensor& self, int64_t dim, bool keepdim) {
  warn_once();
  return at::aminmax(self, dim, keepdim);
}

struct Norm : at::meta::structured_norm_ScalarOpt_dim {
  bool accepts(
      const Tensor& self,
      at::OptionalScalarRef /*p*/,
      at::IntArrayRef /*dim*/,
      bool /*keepdim*/) {
    return plain_float(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      at::OptionalScalarRef p,
      at::IntArrayRef dim,
      bool keepdim,
      const Tensor& out) {
    Tensor to = out;
    at::linalg_vector_norm_out(
        to,
        self,
        p.has_value() ? p.get() : at::Scalar(2.0),
        dim,
        keepdim);
  }
};

struct NormAs : at::meta::structured_norm_ScalarOpt_dim_dtype {
  bool accepts(
      const Tensor& self,
      at::OptionalScalarRef /*p*/,
      at::IntArrayRef /*dim*/,
      bool /*keepdim*/,
      at::ScalarType dtype) {
    return plain_float(self.scalar_type()) && plain_float(dtype);
  }
  void impl(
      const Tensor& self,
      at::OptionalScalarRef p,
      at::IntArrayRef dim,
      bool keepdim,
      at::ScalarType dtype,
      const Tensor& out) {
    Tensor to = out;
    at::linalg_vector_norm_out(
        to,
        self,
        p.has_value() ? p.get() : at::Scalar(2.0),
        dim,
        keepdim,
        dtype);
  }
};

// Slices along `dim` that are longer than maxnorm are shortened to it.
struct Renorm : at::meta::structured_renorm {
  bool accepts(
      const Tensor& self,
      const at::Scalar& /*p*/,
      int64_t /*dim*/,
      const at::Scalar& /*maxnorm*/) {
    return plain_float(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      const at::Scalar& p,
      int64_t dim,
      const at::Scalar& maxnorm,
      const Tensor& out) {
    constexpr double kSmall = 1e-7; // upstream's
    if (out.numel() == 0) {
      return;
    }
    const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
    c10::DimVector others;
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (d != axis) {
        others.push_back(d);
      }
    }
    // 16-bit sums would lose digits, or overflow.
    const at::ScalarType type =
        self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const Tensor norm = at::linalg_vector_norm(
        self,
        p.toDouble(),
        others,
        /*keepdim=*/true,
        type);
    const Tensor scale = at::where(
        norm.gt(maxnorm),
        norm.add(kSmall).reciprocal_().mul_(maxnorm),
        1.0);
    Tensor to = out;
    if (type == self.scalar_type()) {
      at::mul_out(to, self, scale);
    } else {
      to.copy_(self.to(type).mul_(scale));
    }
  }
};

// The sum of the products is one product of matrices side by side.
Tensor& addbmm_out(
    const Tensor& self,
    const Tensor& batch1,
    const Tensor& batch2,
    const at::Scalar& beta,
    const at::Scalar& alpha,
    Tensor& out) {
  TORCH_CHECK(batch1.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(batch2.dim() == 3, "batch2 must be a 3D tensor");
  TORCH_CHECK(
      batch1.size(0) == batch2.size(0),
      "batch1 and batch2 must have same number of batches, got ",
      batch1.size(0),
      " and ",
      batch2.size(0));
  TORCH_CHECK(
      batch1.size(2) == batch2.size(1),
      "Incompatible matrix sizes for bmm (",
      batch1.size(1),
      "x",
      batch1.size(2),
      " and ",
      batch2.size(1),
      "x",
      batch2.size(2),
      ")");
  const int64_t rows = batch1.size(1);
  const int64_t columns = batch2.size(2);
  const int64_t depth = batch1.size(0) * batch1.size(2);
  const Tensor start = self.expand({rows, columns});
  const Tensor left = batch1.transpose(0, 1).reshape({rows, depth});
  const Tensor right = batch2.reshape({depth, columns});
  return at::addmm_out(out, start, left, right, beta, alpha);
}

Tensor addbmm(
    const Tensor& self,
    const Tensor& batch1,
    const Tensor& batch2,
    const at::Scalar& beta,
    const at::Scalar& alpha) {
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_strided({0}, {}, self.options());
  return addbmm_out(self, batch1, batch2, beta, alpha, out);
}

Tensor& addbmm_inplace(
    Tensor& self,
    const Tensor& batch1,
    const Tensor& batch2,
    const at::Scalar& beta,
    const at::Scalar& alpha) {
  return addbmm_out(self, batch1, batch2, beta, alpha, self);
}

// Sums of all dimensions but `dim`, which keep their places.
Tensor sum_but(const Tensor& self, int64_t dim) {
  c10::DimVector others;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim) {
      others.push_back(d);
    }
  }
  return others.empty() ? self : at::sum(self, others, /*keepdim=*/true);
}

std::tuple<Tensor, Tensor>
weight_norm(const Tensor& v, const Tensor& g, int64_t dim) {
  const Tensor norms = at::norm_except_dim(v, 2, dim);
  return {v.mul(g.div(norms)), norms};
}

std::tuple<Tensor, Tensor> weight_norm_backward(
    const Tensor& grad_w,
    const Tensor& v,
    const Tensor& g,
    const Tensor& norms,
    int64_t dim) {
  TORCH_CHECK(v.is_contiguous(), "saved_v must be contiguous");
  TORCH_CHECK(g.is_contiguous(), "saved_g must be contiguous");
  TORCH_CHECK(norms.is_contiguous(), "saved_norms must be contiguous");
  const Tensor along = sum_but(grad_w.mul(v), dim);
  const Tensor across = grad_w.sub(v.mul(along.div(norms.mul(norms))));
  return {across.mul(g.div(norms)), along.div(norms)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&trace>("trace");
  r.native<&count_nonzero>("count_nonzero.dim_IntList");
  r.native<&aminmax>("_aminmax");
  r.native<&aminmax_dim>("_aminmax.dim");
  structured<Norm>(r, "norm.ScalarOpt_dim", nullptr, "norm.out");
  structured<NormAs>(r, "norm.ScalarOpt_dim_dtype", nullptr, "norm.dtype_out");
  structured<Renorm>(r, "renorm", "renorm_", "renorm.out");
  r.native<&weight_norm>("_weight_norm_interface");
  r.native<&weight_norm_backward>("_weight_norm_interface_backward");
  r.native<&addbmm>("addbmm");
  r.native<&addbmm_inplace>("addbmm_");
  r.native<&addbmm_out>("addbmm.out");
}

} // namespace

} // namespace torch_fl::ops
