// SPDX-License-Identifier: Apache-2.0
// Lists of tensors, as optimizers use them: the quick kernels in a loop,
// without the dispatcher in between. Lists that are not made of equal dense
// floating tensors take torch's own loop, which reports every error too.
#include "csrc/mudnn/elementwise.h"
#include "csrc/ops/output.h"
#include "csrc/ops/quick.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_add_native.h>
#include <ATen/ops/_foreach_addcdiv_native.h>
#include <ATen/ops/_foreach_addcmul_native.h>
#include <ATen/ops/_foreach_div_native.h>
#include <ATen/ops/_foreach_lerp_native.h>
#include <ATen/ops/_foreach_mul_native.h>
#include <ATen/ops/_foreach_sqrt_native.h>

#include <vector>

namespace torch_fl::ops {

namespace {

using at::ArrayRef;
using at::Scalar;
using at::Tensor;
using at::TensorList;
using mudnn::BinaryMode;
using mudnn::BinaryRow;
using mudnn::Number;
using mudnn::Operands;
using mudnn::UnaryMode;

constexpr BinaryRow kMul{BinaryMode::MUL, UnaryMode::MUL, UnaryMode::MUL};

// Whether elements lie one behind the other, in whatever order of dimensions.
bool packed(const Tensor& t) {
  return t.is_contiguous() || t.is_non_overlapping_and_dense();
}

bool single_kernel(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kHalf ||
      type == at::kBFloat16;
}

// Half types would be rounded between the kernels of a composition.
bool several_kernels(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble;
}

bool matches(const Tensor& first, const Tensor& other) {
  return other.scalar_type() == first.scalar_type() &&
      other.device() == first.device() && other.sizes() == first.sizes() &&
      other.strides() == first.strides() && no_partial_overlap(first, other);
}

// Whether the tensors at each place of the lists can be read as flat arrays.
template <class... Lists>
bool flat_lists(
    bool (*takes)(at::ScalarType),
    TensorList self,
    const Lists&... others) {
  if (self.empty() || !((others.size() == self.size()) && ... && true)) {
    return false;
  }
  const c10::Device device = self[0].device();
  for (size_t i = 0; i < self.size(); ++i) {
    const Tensor& first = self[i];
    if (!device.is_privateuseone() || first.device() != device ||
        !takes(first.scalar_type()) || !packed(first) ||
        !(matches(first, others[i]) && ... && true)) {
      return false;
    }
  }
  return true;
}

bool is_real(const Scalar& value) {
  return value.isFloatingPoint() || value.isIntegral(/*includeBool=*/false);
}

bool are_real(ArrayRef<Scalar> values) {
  for (const Scalar& value : values) {
    if (!is_real(value)) {
      return false;
    }
  }
  return true;
}

// Calls kernel(operands, i) for each place: operand 0 is self[i], and so is
// operand 1; the others follow.
template <class Kernel, class... Lists>
void for_each_place(TensorList self, Kernel kernel, const Lists&... others) {
  const runtime::DeviceScope scope(self[0].device());
  for (size_t i = 0; i < self.size(); ++i) {
    const Tensor& first = self[i];
    const at::ScalarType type = first.scalar_type();
    Operands operands;
    operands.put(first, type);
    operands.get(first, type);
    (operands.get(others[i], type), ...);
    operands.dense(first.numel(), type);
    kernel(operands, i);
  }
}

void add_scalar(TensorList self, const Scalar& value) {
  if (!is_real(value) || !flat_lists(&single_kernel, self)) {
    return at::native::foreach_tensor_add_scalar_kernel_slow_(self, value);
  }
  const Number number(value);
  for_each_place(self, [&](const Operands& v, size_t /*i*/) {
    mudnn::unary(v, UnaryMode::ADD, number);
  });
}

void add_list(TensorList self, TensorList other, const Scalar& alpha) {
  if (!is_real(alpha) || !flat_lists(&single_kernel, self, other)) {
    return at::native::foreach_tensor_add_list_kernel_slow_(self, other, alpha);
  }
  const Number factor(alpha);
  const BinaryMode mode =
      factor.real == 1 ? BinaryMode::ADD : BinaryMode::ADD_ALPHA;
  for_each_place(
      self,
      [&](const Operands& v, size_t /*i*/) {
        mudnn::binary_ordered(v, 1, 2, mode, factor);
      },
      other);
}

void mul_scalar(TensorList self, const Scalar& value) {
  if (!is_real(value) || !flat_lists(&single_kernel, self)) {
    return at::native::foreach_tensor_mul_scalar_kernel_slow_(self, value);
  }
  const Number number(value);
  for_each_place(self, [&](const Operands& v, size_t /*i*/) {
    mudnn::unary(v, UnaryMode::MUL, number);
  });
}

void mul_list(TensorList self, TensorList other) {
  if (!flat_lists(&single_kernel, self, other)) {
    return at::native::foreach_tensor_mul_list_kernel_slow_(self, other);
  }
  for_each_place(
      self,
      [](const Operands& v, size_t /*i*/) {
        mudnn::binary_ordered(v, 1, 2, BinaryMode::MUL);
      },
      other);
}

// One element for all lists, such as the factor that clips gradients.
void mul_tensor(TensorList self, const Tensor& other) {
  bool quick = other.dim() == 0 && flat_lists(&single_kernel, self);
  for (size_t i = 0; quick && i < self.size(); ++i) {
    quick = other.scalar_type() == self[i].scalar_type() &&
        other.device() == self[i].device() &&
        !other.storage().is_alias_of(self[i].storage());
  }
  if (!quick) {
    return at::native::foreach_tensor_mul_tensor_kernel_slow_(self, other);
  }
  for_each_place(self, [&](Operands& v, size_t /*i*/) {
    v.get(other, other.scalar_type());
    v.flat = false;
    v.strides[0][0] = 1;
    v.strides[1][0] = 1;
    v.strides[2][0] = 0;
    mudnn::binary(v, kMul);
  });
}

void div_scalars(TensorList self, ArrayRef<Scalar> values) {
  if (values.size() != self.size() || !are_real(values) ||
      !flat_lists(&single_kernel, self)) {
    return at::native::foreach_tensor_div_scalarlist_kernel_slow_(self, values);
  }
  for_each_place(self, [&](const Operands& v, size_t i) {
    mudnn::unary(v, UnaryMode::TRUEDIV, Number(values[i]));
  });
}

void div_list(TensorList self, TensorList other) {
  if (!flat_lists(&single_kernel, self, other)) {
    return at::native::foreach_tensor_div_list_kernel_slow_(self, other);
  }
  for_each_place(
      self,
      [](const Operands& v, size_t /*i*/) {
        mudnn::binary_ordered(v, 1, 2, BinaryMode::TRUEDIV);
      },
      other);
}

std::vector<Tensor> sqrt(TensorList self) {
  if (!flat_lists(&single_kernel, self)) {
    return at::native::foreach_tensor_sqrt_slow(self);
  }
  const runtime::DeviceScope scope(self[0].device());
  std::vector<Tensor> made;
  made.reserve(self.size());
  for (const Tensor& t : self) {
    made.push_back(
        t.is_contiguous() ? make_dense(t.sizes(), t.scalar_type())
                          : make_strided(t.sizes(), t.strides(), t.options()));
    Operands operands;
    operands.put(made.back(), t.scalar_type());
    operands.get(t, t.scalar_type());
    operands.dense(t.numel(), t.scalar_type());
    mudnn::unary(operands, UnaryMode::SQRT);
  }
  return made;
}

void lerp_scalar(TensorList self, TensorList end, const Scalar& weight) {
  if (!is_real(weight) || !flat_lists(&several_kernels, self, end)) {
    return at::native::foreach_tensor_lerp_list_kernel_slow_(self, end, weight);
  }
  const Number number(weight);
  for_each_place(
      self,
      [&](const Operands& v, size_t /*i*/) { mudnn::lerp(v, number); },
      end);
}

// self += value · first · second, or the same with a quotient.
template <auto* Run, auto* Slow>
void add_scaled(
    TensorList self,
    TensorList first,
    TensorList second,
    const Scalar& value) {
  if (!is_real(value) || !flat_lists(&several_kernels, self, first, second)) {
    return Slow(self, first, second, value);
  }
  const Number number(value);
  for_each_place(
      self,
      [&](const Operands& v, size_t /*i*/) { Run(v, number); },
      first,
      second);
}

void addcdiv_scalars(
    TensorList self,
    TensorList first,
    TensorList second,
    ArrayRef<Scalar> values) {
  if (values.size() != self.size() || !are_real(values) ||
      !flat_lists(&several_kernels, self, first, second)) {
    return at::native::foreach_tensor_addcdiv_scalarlist_slow_(
        self,
        first,
        second,
        values);
  }
  for_each_place(
      self,
      [&](const Operands& v, size_t i) {
        mudnn::addcdiv(v, Number(values[i]));
      },
      first,
      second);
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&add_scalar>("_foreach_add_.Scalar");
  registrar.native<&add_list>("_foreach_add_.List");
  registrar.native<&mul_scalar>("_foreach_mul_.Scalar");
  registrar.native<&mul_list>("_foreach_mul_.List");
  registrar.native<&mul_tensor>("_foreach_mul_.Tensor");
  registrar.native<&div_scalars>("_foreach_div_.ScalarList");
  registrar.native<&div_list>("_foreach_div_.List");
  registrar.native<&sqrt>("_foreach_sqrt");
  registrar.native<&lerp_scalar>("_foreach_lerp_.Scalar");
  registrar.native<&add_scaled<
      &mudnn::addcmul,
      &at::native::foreach_tensor_addcmul_scalar_slow_>>(
      "_foreach_addcmul_.Scalar");
  registrar.native<&add_scaled<
      &mudnn::addcdiv,
      &at::native::foreach_tensor_addcdiv_scalar_slow_>>(
      "_foreach_addcdiv_.Scalar");
  registrar.native<&addcdiv_scalars>("_foreach_addcdiv_.ScalarList");
}

} // namespace torch_fl::ops
