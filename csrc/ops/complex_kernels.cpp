// SPDX-License-Identifier: Apache-2.0
// Complex numbers on kernels of ours: muDNN has no such type.
#include "csrc/ops/complex.h"

#include "csrc/kernels/complex.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/native/TensorFactories.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/complex_native.h>
#include <ATen/ops/conj_physical_native.h>
#include <ATen/ops/full.h>
#include <ATen/ops/polar_native.h>
#include <ATen/ops/view_as_real.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;

// Kernels take operands of one type, all of them on the device.
bool plain(
    at::TensorIteratorBase& iter,
    at::ScalarType out,
    at::ScalarType in) {
  for (int a = 1; a < iter.ntensors(); ++a) {
    if (iter.is_cpu_scalar(a) || iter.dtype(a) != in) {
      return false;
    }
  }
  return iter.dtype(0) == out;
}

// start(operands) with operands of the types `out` and `in`.
template <class Start>
void run(
    at::TensorIteratorBase& iter,
    at::ScalarType out,
    at::ScalarType in,
    const Start& start) {
  if (iter.numel() == 0) {
    return;
  }
  const runtime::DeviceScope scope(iter.device(0));
  if (plain(iter, out, in)) {
    start(kernel_operands(iter));
    return;
  }
  const Tensor& target = iter.tensor(0);
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false)
      .check_all_same_dtype(false)
      .resize_outputs(false);
  if (target.scalar_type() == out) {
    config.add_owned_output(target);
  } else {
    config.declare_static_dtype_and_device(out, target.device());
    config.add_owned_output(Tensor());
  }
  for (int a = 1; a < iter.ntensors(); ++a) {
    const Tensor& operand = iter.tensor(a);
    config.add_owned_const_input(
        iter.is_cpu_scalar(a)
            ? at::full({}, operand.item(), target.options().dtype(in))
            : operand.to(in));
  }
  at::TensorIterator same = config.build();
  start(kernel_operands(same));
  if (target.scalar_type() != out) {
    target.copy_(same.tensor(0));
  }
}

FlComplex kernel_of(ComplexOp op) {
  switch (op) {
  case ComplexOp::kAdd:
    return kFlComplexAdd;
  case ComplexOp::kSub:
    return kFlComplexSub;
  case ComplexOp::kMul:
    return kFlComplexMul;
  case ComplexOp::kDiv:
    return kFlComplexDiv;
  case ComplexOp::kConj:
    return kFlComplexConj;
  case ComplexOp::kNeg:
    return kFlComplexNeg;
  case ComplexOp::kReciprocal:
    return kFlComplexReciprocal;
  case ComplexOp::kSgn:
    return kFlComplexSgn;
  }
  TORCH_INTERNAL_ASSERT(false);
}

FlComplexTo kernel_of(ComplexTo op) {
  switch (op) {
  case ComplexTo::kAbs:
    return kFlComplexAbs;
  case ComplexTo::kAngle:
    return kFlComplexAngle;
  case ComplexTo::kEqual:
    return kFlComplexEqual;
  case ComplexTo::kNotEqual:
    return kFlComplexNotEqual;
  }
  TORCH_INTERNAL_ASSERT(false);
}

int32_t is_double(at::ScalarType type) {
  return c10::toRealValueType(type) == at::kDouble ? 1 : 0;
}

// What torch's own functions call.
void complex_kernel(at::TensorIterator& iter) {
  const Tensor parts = at::view_as_real(iter.tensor(0));
  parts.select(-1, 0).copy_(iter.tensor(1));
  parts.select(-1, 1).copy_(iter.tensor(2));
}

void polar_kernel(at::TensorIterator& iter) {
  const at::ScalarType type = iter.dtype(1);
  TORCH_CHECK_NOT_IMPLEMENTED(
      type == at::kFloat || type == at::kDouble,
      "\"polar\" not implemented for '",
      c10::toString(type),
      "'");
  run(iter, c10::toComplexType(type), type, [&](const FlOperands& v) {
    FL_MUSA_CHECK(
        fl_complex_to(kFlComplexPolar, is_double(type), &v, kernel_stream()));
  });
}

void conj_kernel(at::TensorIteratorBase& iter) {
  const at::ScalarType type = iter.dtype(0);
  if (c10::isComplexType(type)) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        computes_complex(iter, type),
        "\"conj_physical\" not implemented for '",
        c10::toString(type),
        "'");
    compute_complex(iter, type, ComplexOp::kConj);
  } else {
    iter.tensor(0).copy_(iter.tensor(1));
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&at::native::complex>("complex");
  r.native<&at::native::complex_out>("complex.out");
  r.native<&at::native::polar>("polar");
  r.native<&at::native::polar_out>("polar.out");
  r.native<&at::native::conj_physical_out>("conj_physical.out");
}

} // namespace

bool computes_complex(at::TensorIteratorBase& iter, at::ScalarType type) {
  return (type == at::kComplexFloat || type == at::kComplexDouble) &&
      iter.ndim() <= kFlMaxRank;
}

void compute_complex(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    ComplexOp op,
    const at::Scalar& alpha) {
  FlComplexCall call{};
  const c10::complex<double> factor = alpha.toComplexDouble();
  call.alpha[0] = factor.real();
  call.alpha[1] = factor.imag();
  call.op = kernel_of(op);
  call.is_double = is_double(type);
  run(iter, type, type, [&](const FlOperands& v) {
    FL_MUSA_CHECK(fl_complex(&call, &v, kernel_stream()));
  });
}

void compute_complex(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    ComplexTo op) {
  const bool real = op == ComplexTo::kAbs || op == ComplexTo::kAngle;
  run(iter,
      real ? c10::toRealValueType(type) : at::kBool,
      type,
      [&](const FlOperands& v) {
        FL_MUSA_CHECK(
            fl_complex_to(kernel_of(op), is_double(type), &v, kernel_stream()));
      });
}

} // namespace torch_fl::ops

namespace at::native {

REGISTER_PRIVATEUSE1_DISPATCH(complex_stub, &torch_fl::ops::complex_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(polar_stub, &torch_fl::ops::polar_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(conj_physical_stub, &torch_fl::ops::conj_kernel)

} // namespace at::native
