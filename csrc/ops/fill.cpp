// SPDX-License-Identifier: Apache-2.0
// Filling with a value, and ranges and identities built on it.
#include "csrc/mudnn/sequence.h"
#include "csrc/ops/elementwise.h"
#include "csrc/runtime/memcpy.h"

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_as_real.h>

#include <algorithm>
#include <cmath>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::Number;

// Throws torch's overflow error for a value that the dtype cannot hold.
void check_range(at::ScalarType type, const at::Scalar& value) {
  switch (type) {
  case at::kByte:
    static_cast<void>(value.toByte());
    break;
  case at::kChar:
    static_cast<void>(value.toChar());
    break;
  case at::kShort:
    static_cast<void>(value.toShort());
    break;
  case at::kInt:
    static_cast<void>(value.toInt());
    break;
  case at::kLong:
    static_cast<void>(value.toLong());
    break;
  default:
    TORCH_CHECK(
        !value.isComplex() || c10::isComplexType(type) ||
            value.toComplexDouble().imag() == 0,
        "value cannot be converted to type ",
        type,
        " without overflow");
    break;
  }
}

Tensor& fill_scalar(Tensor& self, const at::Scalar& value) {
  const at::ScalarType type = self.scalar_type();
  if (c10::isComplexType(type) &&
      mudnn::has_dnn_type(c10::toRealValueType(type))) {
    const runtime::DeviceScope scope(self.device());
    const auto parts = at::view_as_real(self.is_conj() ? self.conj() : self);
    const auto number = value.toComplexDouble();
    mudnn::fill(parts.select(-1, 0), Number(number.real()));
    mudnn::fill(
        parts.select(-1, 1),
        Number(self.is_conj() ? -number.imag() : number.imag()));
    return self;
  }
  if (!mudnn::has_dnn_type(type)) {
    return routing::ToCpuByName<Tensor&(Tensor&, const at::Scalar&)>::call(
        "fill_.Scalar",
        self,
        value);
  }
  check_range(type, value);
  const runtime::DeviceScope scope(self.device());
  const Number number(
      value.isComplex() ? at::Scalar(value.toComplexDouble().real()) : value);
  mudnn::fill(self, number);
  return self;
}

Tensor& fill_tensor(Tensor& self, const Tensor& value) {
  TORCH_CHECK(
      value.dim() == 0,
      "fill_ only supports 0-dimension value tensor but got tensor with ",
      value.dim(),
      " dimensions.");
  if (value.device() != self.device()) {
    return fill_scalar(self, value.item());
  }
  self.copy_(value);
  return self;
}

Tensor& zero(Tensor& self) {
  const runtime::DeviceScope scope(self.device());
  if (self.is_non_overlapping_and_dense()) {
    runtime::fill_async(
        self.unsafeGetTensorImpl()->mutable_data(),
        0,
        self.nbytes(),
        runtime::current_stream());
    return self;
  }
  return fill_scalar(self, 0);
}

// A BOOL mask that can be broadcast to self.
void check_mask(const Tensor& self, const Tensor& mask) {
  TORCH_CHECK(
      mask.scalar_type() == at::kBool,
      "masked_fill_ only supports boolean masks, but got mask with dtype ",
      mask.scalar_type());
  check_same_device(self, mask);
  at::assert_no_internal_overlap(self);
  at::assert_no_partial_overlap(self, mask);
}

Tensor&
masked_fill_scalar(Tensor& self, const Tensor& mask, const at::Scalar& value) {
  check_mask(self, mask);
  if (!mudnn::has_dnn_type(self.scalar_type()) || value.isComplex()) {
    return routing::
        ToCpuByName<Tensor&(Tensor&, const Tensor&, const at::Scalar&)>::call(
            "masked_fill_.Scalar",
            self,
            mask,
            value);
  }
  check_range(self.scalar_type(), value);
  const runtime::DeviceScope scope(self.device());
  mudnn::fill_masked(
      self,
      mask.sizes() == self.sizes() ? mask : mask.expand_as(self),
      Number(value));
  return self;
}

Tensor&
masked_fill_tensor(Tensor& self, const Tensor& mask, const Tensor& value) {
  TORCH_CHECK(
      value.dim() == 0,
      "masked_fill_ only supports a 0-dimensional value tensor, but got "
      "tensor with ",
      value.dim(),
      " dimension(s).");
  if (value.device().is_cpu()) {
    return masked_fill_scalar(self, mask, value.item());
  }
  check_mask(self, mask);
  check_same_device(self, value);
  if (!mudnn::has_dnn_type(self.scalar_type()) ||
      !mudnn::has_dnn_type(value.scalar_type())) {
    return routing::
        ToCpuByName<Tensor&(Tensor&, const Tensor&, const Tensor&)>::call(
            "masked_fill_.Tensor",
            self,
            mask,
            value);
  }
  const runtime::DeviceScope scope(self.device());
  auto iter = at::TensorIteratorConfig()
                  .set_check_mem_overlap(false)
                  .resize_outputs(false)
                  .check_all_same_dtype(false)
                  .add_output(self)
                  .add_const_input(mask)
                  .add_const_input(value)
                  .add_const_input(self)
                  .build();
  mudnn::select(mudnn::Operands(iter, self.scalar_type()));
  return self;
}

// How many numbers: by integers where a double is not exact.
int64_t arange_size(
    at::ScalarType type,
    const at::Scalar& start,
    const at::Scalar& end,
    const at::Scalar& step) {
  const double first = start.toDouble();
  const double last = end.toDouble();
  const double by = step.toDouble();
  TORCH_CHECK(by > 0 || by < 0, "step must be nonzero");
  TORCH_CHECK(
      std::isfinite(first) && std::isfinite(last),
      "unsupported range: ",
      first,
      " -> ",
      last);
  TORCH_CHECK(
      by > 0 ? last >= first : last <= first,
      "upper bound and lower bound inconsistent with step sign");
  if (type != at::kLong) {
    return static_cast<int64_t>(std::ceil((last - first) / by));
  }
  const int64_t stride = step.toLong();
  TORCH_CHECK_VALUE(stride != 0, "step must be nonzero");
  const int64_t sign = stride > 0 ? 1 : -1;
  return (end.toLong() - start.toLong() + stride - sign) / stride;
}

Tensor& arange(
    const at::Scalar& start,
    const at::Scalar& end,
    const at::Scalar& step,
    Tensor& out) {
  const at::ScalarType type = out.scalar_type();
  if (!arithmetic(type) || start.isComplex() || end.isComplex() ||
      step.isComplex()) {
    return routing::ToCpuByName<Tensor&(
        const at::Scalar&,
        const at::Scalar&,
        const at::Scalar&,
        Tensor&)>::call("arange.start_out", start, end, step, out);
  }
  const int64_t numel = arange_size(type, start, end, step);
  const runtime::DeviceScope scope(out.device());
  if (out.numel() != numel) {
    if (out.numel() > 0) {
      TORCH_WARN(
          "The number of elements in the out tensor of shape ",
          out.sizes(),
          " is ",
          out.numel(),
          " which does not match the computed number of elements ",
          numel,
          ". Note that this may occur as a result of rounding error. The out "
          "tensor will be resized to a tensor of shape (",
          numel,
          ",).");
    }
    out.resize_({numel});
  }
  mudnn::arange(out, Number(start), Number(step));
  return out;
}

Tensor& eye(int64_t rows, int64_t columns, Tensor& out) {
  TORCH_CHECK(rows >= 0, "n must be greater or equal to 0, got ", rows);
  TORCH_CHECK(columns >= 0, "m must be greater or equal to 0, got ", columns);
  out.resize_({rows, columns});
  zero(out);
  Tensor diagonal = at::native::as_strided_tensorimpl(
      out,
      {std::min(rows, columns)},
      {out.stride(0) + out.stride(1)},
      out.storage_offset());
  fill_scalar(diagonal, 1);
  return out;
}

Tensor& eye_square(int64_t n, Tensor& out) {
  return eye(n, n, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&fill_scalar>("fill_.Scalar");
  r.native<&fill_tensor>("fill_.Tensor");
  r.native<&zero>("zero_");
  r.native<&masked_fill_scalar>("masked_fill_.Scalar");
  r.native<&masked_fill_tensor>("masked_fill_.Tensor");
  r.native<&arange>("arange.start_out");
  r.native<&eye_square>("eye.out");
  r.native<&eye>("eye.m_out");
}

} // namespace

} // namespace torch_fl::ops
