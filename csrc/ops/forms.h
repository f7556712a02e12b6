// SPDX-License-Identifier: Apache-2.0
// The three forms of a structured class (structured.h says how to use them).
#pragma once

#include "csrc/ops/quick.h"
#include "csrc/ops/shell.h"
#include "csrc/routing/register.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>

#include <array>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace torch_fl::ops {

template <size_t, class T>
using Repeat = T;

// How many tensors `impl` takes beyond meta's arguments.
template <class Meta, class Impl>
struct OutputCount;
template <class R, class M, class... A, class R2, class M2, class... B>
struct OutputCount<R (M::*)(A...), R2 (M2::*)(B...)> {
  static constexpr size_t value = sizeof...(B) - sizeof...(A);
};

template <class R, class M, class... A, class R2, class M2, class... B>
struct OutputCount<R (M::*)(A...), R2 (M2::*)(B...) const> {
  static constexpr size_t value = sizeof...(B) - sizeof...(A);
};

// Meta's argument types are the kernel's, but for optional tensors.
template <class T>
struct Argument {
  using type = T;
  static const std::decay_t<T>& pass(const std::decay_t<T>& value) {
    return value;
  }
};
template <>
struct Argument<at::OptionalTensorRef> {
  using type = const std::optional<at::Tensor>&;
  static at::OptionalTensorRef pass(const std::optional<at::Tensor>& value) {
    return value.has_value() ? at::OptionalTensorRef(*value)
                             : at::OptionalTensorRef();
  }
};
template <>
struct Argument<at::OptionalScalarRef> {
  using type = const std::optional<at::Scalar>&;
  static at::OptionalScalarRef pass(const std::optional<at::Scalar>& value) {
    return value.has_value() ? at::OptionalScalarRef(*value)
                             : at::OptionalScalarRef();
  }
};
template <>
struct Argument<at::IOptTensorListRef> {
  using type = const c10::List<std::optional<at::Tensor>>&;
  static at::IOptTensorListRef pass(
      const c10::List<std::optional<at::Tensor>>& value) {
    return value;
  }
};
template <class T>
using ArgumentType = typename Argument<T>::type;

template <class Op, class Args, class = void>
struct HasAccepts : std::false_type {};
template <class Op, class... A>
struct HasAccepts<
    Op,
    std::tuple<A...>,
    std::void_t<decltype(std::declval<Op&>().accepts(std::declval<A>()...))>>
    : std::true_type {};

template <class Op, class Meta, class Outputs>
struct Forms;

template <class Op, class R, class M, class Self, class... A, size_t... I>
struct Forms<Op, R (M::*)(Self, A...), std::index_sequence<I...>> {
  static constexpr size_t kOutputs = sizeof...(I);
  static constexpr bool kHasInplace =
      kOutputs == 1 && std::is_same_v<Self, const at::Tensor&>;
  using Made = std::conditional_t<
      kOutputs == 1,
      at::Tensor,
      std::tuple<Repeat<I, at::Tensor>...>>;
  using Given = std::conditional_t<
      kOutputs == 1,
      at::Tensor&,
      std::tuple<Repeat<I, at::Tensor&>...>>;

  static inline std::array<const char*, 3> names{};

  static Made functional(Self self, ArgumentType<A>... args) {
    if constexpr (IsQuick<Op, Self, A...>::value && kOutputs == 1) {
      at::Tensor made;
      if (quick<Op, Form::kFunctional>(&made, nullptr, self, args...)) {
        return made;
      }
    }
    Shell<Op, Form::kFunctional, kOutputs> op;
    if (!prepare(op, self, Argument<A>::pass(args)...)) {
      return routing::ToCpuByName<Made(Self, ArgumentType<A>...)>::call(
          names[0],
          self,
          args...);
    }
    op.impl(self, Argument<A>::pass(args)..., op.output(I)...);
    if constexpr (kOutputs == 1) {
      return op.release(0);
    } else {
      return {op.release(I)...};
    }
  }

  static Given
  out(Self self, ArgumentType<A>... args, Repeat<I, at::Tensor&>... given) {
    if constexpr (IsQuick<Op, Self, A...>::value && kOutputs == 1) {
      if (quick<Op, Form::kOut>(nullptr, &given..., self, args...)) {
        return (given, ...);
      }
    }
    Shell<Op, Form::kOut, kOutputs> op(given...);
    if (!prepare(op, self, Argument<A>::pass(args)...)) {
      return routing::ToCpuByName<Given(
          Self,
          ArgumentType<A>...,
          Repeat<I, at::Tensor&>...)>::call(names[1], self, args..., given...);
    }
    op.impl(self, Argument<A>::pass(args)..., op.output(I)...);
    op.finish();
    if constexpr (kOutputs == 1) {
      return (given, ...);
    } else {
      return {given...};
    }
  }

  static at::Tensor& inplace(at::Tensor& self, ArgumentType<A>... args) {
    if constexpr (IsQuick<Op, Self, A...>::value) {
      if (quick<Op, Form::kInplace>(nullptr, &self, self, args...)) {
        return self;
      }
    }
    Shell<Op, Form::kInplace, 1> op(self);
    if (!prepare(op, self, Argument<A>::pass(args)...)) {
      return routing::ToCpuByName<at::Tensor&(
          at::Tensor&,
          ArgumentType<A>...)>::call(names[2], self, args...);
    }
    op.impl(self, Argument<A>::pass(args)..., op.output(0));
    op.finish();
    return self;
  }

 private:
  // False: the call belongs to the CPU.
  template <class S>
  static bool prepare(S& op, Self self, const std::decay_t<A>&... args) {
    op.check_devices(self, args...);
    op.meta(self, args...);
    if constexpr (HasAccepts<Op, std::tuple<Self, A...>>::value) {
      return op.accepts(self, args...);
    } else {
      return true;
    }
  }
};

template <class Op>
using FormsOf = Forms<
    Op,
    decltype(&Op::meta),
    std::make_index_sequence<
        OutputCount<decltype(&Op::meta), decltype(&Op::impl)>::value>>;

} // namespace torch_fl::ops
