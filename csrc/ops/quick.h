// SPDX-License-Identifier: Apache-2.0
// The quick road: what TensorIterator would turn into one flat loop without
// conversion skips it. Everything else, errors included, does not come here.
#pragma once

#include "csrc/mudnn/operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/shell.h"
#include "csrc/runtime/device.h"

#include <tuple>
#include <type_traits>
#include <utility>

namespace torch_fl::ops {

C10_ALWAYS_INLINE bool dense_here(const at::Tensor& tensor) {
  const c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  return impl->key_set().has_backend(c10::BackendComponent::PrivateUse1Bit) &&
      impl->is_contiguous();
}

C10_ALWAYS_INLINE bool same_sizes(at::IntArrayRef a, at::IntArrayRef b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

// Beside a dense tensor of flagos: one on that device with its sizes.
C10_ALWAYS_INLINE bool lies_like(const at::Tensor& a, const at::Tensor& b) {
  return dense_here(b) && a.device() == b.device() &&
      same_sizes(a.sizes(), b.sizes());
}
C10_ALWAYS_INLINE bool alike(const at::Tensor& a, const at::Tensor& b) {
  return &a == &b || (a.dtype() == b.dtype() && lies_like(a, b));
}

// A Python number beside a floating tensor keeps that tensor's dtype.
inline bool number_for(const at::Tensor& tensor, const at::Tensor& number) {
  return number.dim() == 0 && number.device().is_cpu() &&
      number.unsafeGetTensorImpl()->is_wrapped_number() &&
      c10::isFloatingType(tensor.scalar_type()) &&
      (number.scalar_type() == at::kDouble ||
       number.scalar_type() == at::kLong);
}

inline mudnn::Number number_of(const at::Tensor& number) {
  const void* const data = number.unsafeGetTensorImpl()->data();
  return number.scalar_type() == at::kDouble
      ? mudnn::Number(*static_cast<const double*>(data))
      : mudnn::Number(*static_cast<const int64_t*>(data));
}

// Equal shapes, both dense: partial overlap needs one storage and two offsets.
C10_ALWAYS_INLINE bool no_partial_overlap(
    const at::Tensor& a,
    const at::Tensor& b) {
  const c10::TensorImpl* const x = a.unsafeGetTensorImpl();
  const c10::TensorImpl* const y = b.unsafeGetTensorImpl();
  return x->storage_offset() == y->storage_offset() ||
      !x->unsafe_storage().is_alias_of(y->unsafe_storage());
}

// What torch's alpha_check accepts; anything else goes to meta, which raises.
C10_ALWAYS_INLINE bool factor_ok(
    at::ScalarType type,
    const at::Scalar& factor) {
  return c10::isFloatingType(type)
      ? factor.isFloatingPoint() || factor.isIntegral(false)
      : c10::isIntegralType(type, false) && factor.isIntegral(false);
}

// How many arguments at the front are tensors.
template <class... A>
struct LeadingTensors {
  static constexpr size_t value = 0;
};
template <class... A>
struct LeadingTensors<const at::Tensor&, A...> {
  static constexpr size_t value = 1 + LeadingTensors<A...>::value;
};

template <class Op, class Rest, class = void>
struct HasQuick : std::false_type {};
template <class Op, class... R>
struct HasQuick<
    Op,
    std::tuple<R...>,
    std::void_t<
        decltype(Op::quick(at::kFloat, std::declval<R>()...)),
        decltype(Op::kernel(
            std::declval<const mudnn::Operands&>(),
            std::declval<R>()...))>> : std::true_type {};

template <class Op, class... A>
struct IsQuick : HasQuick<Op, std::tuple<A...>> {};
template <class Op, class... A>
struct IsQuick<Op, const at::Tensor&, A...> : IsQuick<Op, A...> {};

template <class Op, class = void>
struct QuickResult {
  static at::ScalarType of(at::ScalarType type) { return type; }
};
template <class Op>
struct QuickResult<Op, std::void_t<decltype(Op::quick_result(at::kFloat))>> {
  static at::ScalarType of(at::ScalarType type) {
    return Op::quick_result(type);
  }
};

// Whether a Python number may stand for the second tensor.
template <class Op, class = void>
struct TakesNumbers : std::true_type {};
template <class Op>
struct TakesNumbers<Op, std::void_t<decltype(Op::kTakesNumbers)>>
    : std::bool_constant<Op::kTakesNumbers> {};

template <class Op, Form F, size_t T, class Args, size_t... I, size_t... S>
C10_ALWAYS_INLINE bool quick_call(
    at::Tensor* made,
    const at::Tensor* given,
    const Args& args,
    std::index_sequence<I...> /*tensors after the first*/,
    std::index_sequence<S...> /*the rest*/) {
  const at::Tensor& self = std::get<0>(args);
  const at::ScalarType type = self.scalar_type();
  if (!dense_here(self) || !Op::quick(type, std::get<T + S>(args)...)) {
    return false;
  }
  const at::ScalarType result = QuickResult<Op>::of(type);
  const bool equal = (alike(self, std::get<1 + I>(args)) && ...);
  constexpr bool kNumbers = T == 2 && TakesNumbers<Op>::value;
  if constexpr (kNumbers) {
    if (!equal && !number_for(self, std::get<1>(args))) {
      return false;
    }
  } else if (!equal) {
    return false;
  }
  if constexpr (F != Form::kFunctional) {
    if (given != &self &&
        !(lies_like(self, *given) && no_partial_overlap(*given, self))) {
      return false;
    }
    if (given->scalar_type() != result ||
        (equal &&
         !(no_partial_overlap(*given, std::get<1 + I>(args)) && ...))) {
      return false;
    }
  }
  const runtime::DeviceScope scope(self.device());
  if constexpr (F == Form::kFunctional) {
    *made = make_dense(self.sizes(), result);
  }
  mudnn::Operands operands;
  operands.put(F == Form::kFunctional ? *made : *given, result);
  operands.get(self, type);
  if constexpr (kNumbers) {
    if (equal) {
      operands.get(std::get<1>(args), type);
    } else {
      operands.get(number_of(std::get<1>(args)));
    }
  } else {
    (operands.get(std::get<1 + I>(args), type), ...);
  }
  operands.dense(self.numel(), type);
  Op::kernel(operands, std::get<T + S>(args)...);
  return true;
}

template <class Op, Form F, class... A>
C10_ALWAYS_INLINE bool
quick(at::Tensor* made, const at::Tensor* given, const A&... args) {
  constexpr size_t kTensors = LeadingTensors<const A&...>::value;
  return quick_call<Op, F, kTensors>(
      made,
      given,
      std::tie(args...),
      std::make_index_sequence<kTensors - 1>(),
      std::make_index_sequence<sizeof...(A) - kTensors>());
}

} // namespace torch_fl::ops
