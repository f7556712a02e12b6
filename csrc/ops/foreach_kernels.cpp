// SPDX-License-Identifier: Apache-2.0
// Lists of tensors, as optimizers use them: one launch for many tensors. Lists
// that are not made of equal dense floating tensors take torch's own loop,
// which reports every error too.
#include "csrc/ops/foreach_lists.h"

#include "csrc/kernels/foreach.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/tensor_lists.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_abs_native.h>
#include <ATen/ops/_foreach_add_native.h>
#include <ATen/ops/_foreach_addcdiv_native.h>
#include <ATen/ops/_foreach_addcmul_native.h>
#include <ATen/ops/_foreach_clamp_max_native.h>
#include <ATen/ops/_foreach_clamp_min_native.h>
#include <ATen/ops/_foreach_copy_native.h>
#include <ATen/ops/_foreach_div_native.h>
#include <ATen/ops/_foreach_exp_native.h>
#include <ATen/ops/_foreach_lerp_native.h>
#include <ATen/ops/_foreach_mul_native.h>
#include <ATen/ops/_foreach_neg_native.h>
#include <ATen/ops/_foreach_pow_native.h>
#include <ATen/ops/_foreach_reciprocal_native.h>
#include <ATen/ops/_foreach_rsqrt_native.h>
#include <ATen/ops/_foreach_sign_native.h>
#include <ATen/ops/_foreach_sqrt_native.h>
#include <ATen/ops/_foreach_sub_native.h>
#include <ATen/ops/_foreach_zero_native.h>
#include <c10/util/SmallVector.h>

#include <vector>

namespace torch_fl::ops {

namespace {

using at::ArrayRef;
using at::Scalar;
using at::Tensor;
using at::TensorList;
using Made = std::vector<Tensor>;
namespace native = at::native;

bool apart_or_same(const Tensor& a, const Tensor& b) {
  return a.storage_offset() == b.storage_offset() ||
      !a.storage().is_alias_of(b.storage());
}

bool matches(const Tensor& first, const Tensor& other) {
  return other.scalar_type() == first.scalar_type() &&
      other.device() == first.device() && other.sizes() == first.sizes() &&
      other.strides() == first.strides() && !other.is_neg() &&
      apart_or_same(first, other);
}

bool is_real(const Scalar& value) {
  return value.isFloatingPoint() || value.isIntegral(/*includeBool=*/false);
}
bool are_real(ArrayRef<Scalar> values, TensorList self) {
  for (const Scalar& value : values) {
    if (!is_real(value)) {
      return false;
    }
  }
  return values.size() == self.size();
}

// One element on the list's device, of its dtype, outside of it.
bool is_number(TensorList self, const Tensor& number) {
  if (number.dim() != 0 || number.scalar_type() != self[0].scalar_type() ||
      number.device() != self[0].device()) {
    return false;
  }
  for (const Tensor& t : self) {
    if (number.storage().is_alias_of(t.storage())) {
      return false;
    }
  }
  return true;
}

Made made_like(TensorList self) {
  const runtime::DeviceScope scope(self[0].device());
  Made made;
  made.reserve(self.size());
  for (const Tensor& t : self) {
    made.push_back(
        t.is_contiguous() ? make_dense(t.sizes(), t.scalar_type())
                          : make_strided(t.sizes(), t.strides(), t.options()));
  }
  return made;
}

musaError_t launch(
    FlEachOne op,
    FlKernelType type,
    const FlTensors& lists,
    const FlEach& each) {
  return fl_each_one(op, type, &lists, &each, kernel_stream());
}
musaError_t launch(
    FlEachTwo op,
    FlKernelType type,
    const FlTensors& lists,
    const FlEach& each) {
  return fl_each_two(op, type, &lists, &each, kernel_stream());
}
musaError_t launch(
    FlEachThree op,
    FlKernelType type,
    const FlTensors& lists,
    const FlEach& each) {
  return fl_each_three(op, type, &lists, &each, kernel_stream());
}

// What a call's further arguments say: lists, and a number for all tensors, for
// each, or on the device.
struct Arguments {
  c10::SmallVector<TensorList, 4> lists; // out first
  const Scalar* number = nullptr;
  ArrayRef<Scalar> numbers;
  const void* tensor = nullptr;

  void add(TensorList list) { lists.push_back(list); }
  void add(const Scalar& value) { number = &value; }
  void add(ArrayRef<Scalar> values) { numbers = values; }
  void add(const Tensor& value) { tensor = address_of(value); }

  double number_of(size_t i) const {
    return !numbers.empty() ? numbers[i].toDouble()
        : number != nullptr ? number->toDouble()
                            : 1;
  }
};

template <class Op>
void start(Op op, const Arguments& a) {
  const Tensor& first = a.lists[0][0];
  const runtime::DeviceScope scope(first.device());
  const FlKernelType type = kernel_type(first.scalar_type());
  by_portions(a.lists, [&](const FlTensors& portion, size_t from) {
    FlEach each{};
    each.tensor = a.tensor;
    for (int t = 0; t < portion.count; ++t) {
      each.number[t] = a.number_of(from + static_cast<size_t>(t));
    }
    FL_MUSA_CHECK(launch(op, type, portion, each));
  });
}

// Whether one launch takes an argument beside lists that it takes.
bool takes(TensorList self, TensorList other) {
  if (other.size() != self.size()) {
    return false;
  }
  for (size_t i = 0; i < self.size(); ++i) {
    if (!matches(self[i], other[i])) {
      return false;
    }
  }
  return true;
}
bool takes(TensorList /*self*/, const Scalar& value) {
  return is_real(value);
}
bool takes(TensorList self, ArrayRef<Scalar> values) {
  return are_real(values, self);
}
bool takes(TensorList self, const Tensor& number) {
  return is_number(self, number);
}

// An operator on lists in both forms; torch's own loop for what is left.
template <auto op, auto* slow, auto* slow_>
struct Form;
template <
    class Op,
    Op op,
    class... A,
    Made (*slow)(TensorList, A...),
    void (*slow_)(TensorList, A...)>
struct Form<op, slow, slow_> {
  static bool quick(TensorList self, const A&... args) {
    return one_launch_takes(self) && (takes(self, args) && ... && true);
  }
  static Arguments collect(TensorList out, TensorList self, const A&... args) {
    Arguments collected;
    collected.add(out);
    collected.add(self);
    (collected.add(args), ...);
    return collected;
  }
  static Made made(TensorList self, A... args) {
    if (!quick(self, args...)) {
      return slow(self, args...);
    }
    Made out = made_like(self);
    start(op, collect(out, self, args...));
    return out;
  }
  static void inplace(TensorList self, A... args) {
    if (quick(self, args...)) {
      start(op, collect(self, self, args...));
    } else {
      slow_(self, args...);
    }
  }
};

// An element on the device times alpha: one launch knows no such factor.
template <class Base>
struct ScaledElement : Base {
  static bool quick(TensorList self, const Tensor& other, const Scalar& alpha) {
    return is_real(alpha) && alpha.toDouble() == 1 &&
        Base::quick(self, other, alpha);
  }
  static Made made(TensorList self, const Tensor& other, const Scalar& alpha) {
    return quick(self, other, alpha)
        ? Base::made(self, other, alpha)
        : native::foreach_tensor_add_tensor_kernel_slow(self, other, alpha);
  }
  static void
  inplace(TensorList self, const Tensor& other, const Scalar& alpha) {
    if (quick(self, other, alpha)) {
      Base::inplace(self, other, alpha);
    } else {
      native::foreach_tensor_add_tensor_kernel_slow_(self, other, alpha);
    }
  }
};

void copy(TensorList self, TensorList source, bool non_blocking) {
  if (!one_launch_takes(self) || !takes(self, source)) {
    return native::foreach_tensor_copy_list_kernel_slow_(
        self,
        source,
        non_blocking);
  }
  Arguments lists;
  lists.add(self);
  lists.add(source);
  start(kFlEachCopy, lists);
}

void zero(TensorList self) {
  if (!one_launch_takes(self)) {
    return native::foreach_tensor_zero_slow_(self);
  }
  Arguments lists;
  lists.add(self);
  lists.add(self);
  start(kFlEachZero, lists);
}

template <class Form>
void both(routing::Registrar& r, const char* made, const char* inplace) {
  r.native<&Form::made>(made);
  r.native<&Form::inplace>(inplace);
}

// Torch's loops of a name: functional and in place.
#define FL_SLOW(name) \
  &native::foreach_tensor_##name, &native::foreach_tensor_##name##_

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  both<Form<kFlEachAddNumber, FL_SLOW(add_scalar_kernel_slow)>>(
      r,
      "_foreach_add.Scalar",
      "_foreach_add_.Scalar");
  both<Form<kFlEachAddNumber, FL_SLOW(add_scalarlist_kernel_slow)>>(
      r,
      "_foreach_add.ScalarList",
      "_foreach_add_.ScalarList");
  both<Form<kFlEachSubNumber, FL_SLOW(sub_scalar_kernel_slow)>>(
      r,
      "_foreach_sub.Scalar",
      "_foreach_sub_.Scalar");
  both<Form<kFlEachSubNumber, FL_SLOW(sub_scalarlist_kernel_slow)>>(
      r,
      "_foreach_sub.ScalarList",
      "_foreach_sub_.ScalarList");
  both<Form<kFlEachMulNumber, FL_SLOW(mul_scalar_kernel_slow)>>(
      r,
      "_foreach_mul.Scalar",
      "_foreach_mul_.Scalar");
  both<Form<kFlEachMulNumber, FL_SLOW(mul_scalarlist_kernel_slow)>>(
      r,
      "_foreach_mul.ScalarList",
      "_foreach_mul_.ScalarList");
  both<Form<kFlEachDivNumber, FL_SLOW(div_scalar_kernel_slow)>>(
      r,
      "_foreach_div.Scalar",
      "_foreach_div_.Scalar");
  both<Form<kFlEachDivNumber, FL_SLOW(div_scalarlist_kernel_slow)>>(
      r,
      "_foreach_div.ScalarList",
      "_foreach_div_.ScalarList");
  both<Form<kFlEachPowNumber, FL_SLOW(pow_scalar_kernel_slow)>>(
      r,
      "_foreach_pow.Scalar",
      "_foreach_pow_.Scalar");
  both<Form<kFlEachPowNumber, FL_SLOW(pow_scalarlist_kernel_slow)>>(
      r,
      "_foreach_pow.ScalarList",
      "_foreach_pow_.ScalarList");
  both<Form<kFlEachMaxNumber, FL_SLOW(clamp_min_scalar_kernel_slow)>>(
      r,
      "_foreach_clamp_min.Scalar",
      "_foreach_clamp_min_.Scalar");
  both<Form<kFlEachMaxNumber, FL_SLOW(clamp_min_scalarlist_kernel_slow)>>(
      r,
      "_foreach_clamp_min.ScalarList",
      "_foreach_clamp_min_.ScalarList");
  both<Form<kFlEachMinNumber, FL_SLOW(clamp_max_scalar_kernel_slow)>>(
      r,
      "_foreach_clamp_max.Scalar",
      "_foreach_clamp_max_.Scalar");
  both<Form<kFlEachMinNumber, FL_SLOW(clamp_max_scalarlist_kernel_slow)>>(
      r,
      "_foreach_clamp_max.ScalarList",
      "_foreach_clamp_max_.ScalarList");
  both<Form<kFlEachMaxNumber, FL_SLOW(clamp_min_scalar_kernel_slow)>>(
      r,
      "_foreach_maximum.Scalar",
      "_foreach_maximum_.Scalar");
  both<Form<kFlEachMaxNumber, FL_SLOW(clamp_min_scalarlist_kernel_slow)>>(
      r,
      "_foreach_maximum.ScalarList",
      "_foreach_maximum_.ScalarList");
  both<Form<kFlEachMinNumber, FL_SLOW(clamp_max_scalar_kernel_slow)>>(
      r,
      "_foreach_minimum.Scalar",
      "_foreach_minimum_.Scalar");
  both<Form<kFlEachMinNumber, FL_SLOW(clamp_max_scalarlist_kernel_slow)>>(
      r,
      "_foreach_minimum.ScalarList",
      "_foreach_minimum_.ScalarList");
  both<ScaledElement<Form<kFlEachAddNumber, FL_SLOW(add_tensor_kernel_slow)>>>(
      r,
      "_foreach_add.Tensor",
      "_foreach_add_.Tensor");
  both<Form<kFlEachMulNumber, FL_SLOW(mul_tensor_kernel_slow)>>(
      r,
      "_foreach_mul.Tensor",
      "_foreach_mul_.Tensor");
  both<Form<kFlEachDivNumber, FL_SLOW(div_tensor_kernel_slow)>>(
      r,
      "_foreach_div.Tensor",
      "_foreach_div_.Tensor");
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  both<Form<kFlEachAbs, FL_SLOW(abs_slow)>>(r, "_foreach_abs", "_foreach_abs_");
  both<Form<kFlEachExp, FL_SLOW(exp_slow)>>(r, "_foreach_exp", "_foreach_exp_");
  both<Form<kFlEachNeg, FL_SLOW(neg_slow)>>(r, "_foreach_neg", "_foreach_neg_");
  both<Form<kFlEachReciprocal, FL_SLOW(reciprocal_slow)>>(
      r,
      "_foreach_reciprocal",
      "_foreach_reciprocal_");
  both<Form<kFlEachRsqrt, FL_SLOW(rsqrt_slow)>>(
      r,
      "_foreach_rsqrt",
      "_foreach_rsqrt_");
  both<Form<kFlEachSign, FL_SLOW(sign_slow)>>(
      r,
      "_foreach_sign",
      "_foreach_sign_");
  both<Form<kFlEachSqrt, FL_SLOW(sqrt_slow)>>(
      r,
      "_foreach_sqrt",
      "_foreach_sqrt_");
  r.native<&zero>("_foreach_zero_");
  r.native<&copy>("_foreach_copy_");
  both<Form<kFlEachAdd, FL_SLOW(add_list_kernel_slow)>>(
      r,
      "_foreach_add.List",
      "_foreach_add_.List");
  both<Form<kFlEachSub, FL_SLOW(sub_list_kernel_slow)>>(
      r,
      "_foreach_sub.List",
      "_foreach_sub_.List");
  both<Form<kFlEachMul, FL_SLOW(mul_list_kernel_slow)>>(
      r,
      "_foreach_mul.List",
      "_foreach_mul_.List");
  both<Form<kFlEachDiv, FL_SLOW(div_list_kernel_slow)>>(
      r,
      "_foreach_div.List",
      "_foreach_div_.List");
  both<Form<kFlEachPow, FL_SLOW(pow_list_kernel_slow)>>(
      r,
      "_foreach_pow.List",
      "_foreach_pow_.List");
  both<Form<kFlEachMax, FL_SLOW(clamp_min_list_kernel_slow)>>(
      r,
      "_foreach_clamp_min.List",
      "_foreach_clamp_min_.List");
  both<Form<kFlEachMin, FL_SLOW(clamp_max_list_kernel_slow)>>(
      r,
      "_foreach_clamp_max.List",
      "_foreach_clamp_max_.List");
  both<Form<kFlEachMax, FL_SLOW(clamp_min_list_kernel_slow)>>(
      r,
      "_foreach_maximum.List",
      "_foreach_maximum_.List");
  both<Form<kFlEachMin, FL_SLOW(clamp_max_list_kernel_slow)>>(
      r,
      "_foreach_minimum.List",
      "_foreach_minimum_.List");
  both<Form<kFlEachLerpNumber, FL_SLOW(lerp_list_kernel_slow)>>(
      r,
      "_foreach_lerp.Scalar",
      "_foreach_lerp_.Scalar");
  both<Form<kFlEachLerpNumber, FL_SLOW(lerp_scalarlist_kernel_slow)>>(
      r,
      "_foreach_lerp.ScalarList",
      "_foreach_lerp_.ScalarList");
  both<Form<kFlEachLerp, FL_SLOW(ternary_lerp_slow)>>(
      r,
      "_foreach_lerp.List",
      "_foreach_lerp_.List");
  both<Form<kFlEachAddcmul, FL_SLOW(addcmul_scalar_slow)>>(
      r,
      "_foreach_addcmul.Scalar",
      "_foreach_addcmul_.Scalar");
  both<Form<kFlEachAddcmul, FL_SLOW(addcmul_scalarlist_slow)>>(
      r,
      "_foreach_addcmul.ScalarList",
      "_foreach_addcmul_.ScalarList");
  both<Form<kFlEachAddcdiv, FL_SLOW(addcdiv_scalar_slow)>>(
      r,
      "_foreach_addcdiv.Scalar",
      "_foreach_addcdiv_.Scalar");
  both<Form<kFlEachAddcdiv, FL_SLOW(addcdiv_scalarlist_slow)>>(
      r,
      "_foreach_addcdiv.ScalarList",
      "_foreach_addcdiv_.ScalarList");
}

#undef FL_SLOW

} // namespace

bool one_launch_takes(TensorList self) {
  if (self.empty()) {
    return false;
  }
  const c10::Device device = self[0].device();
  const at::ScalarType type = self[0].scalar_type();
  if (!device.is_privateuseone() || !c10::isFloatingType(type) ||
      !has_kernel_type(type)) {
    return false;
  }
  for (const Tensor& t : self) {
    if (t.device() != device || t.scalar_type() != type || t.is_neg() ||
        !(t.is_contiguous() || t.is_non_overlapping_and_dense())) {
      return false;
    }
  }
  return true;
}

} // namespace torch_fl::ops
