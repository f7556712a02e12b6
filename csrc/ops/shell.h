// SPDX-License-Identifier: Apache-2.0
// Holds a structured class' outputs: allocates, resizes, checks, switches to
// the result's device.
#pragma once

#include "csrc/ops/output.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/torch_version.h"

#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>

#include <array>
#include <optional>
#include <type_traits>
#include <utility>

namespace torch_fl::ops {

enum class Form { kFunctional, kOut, kInplace };

// Torch 2.13 took the names out of the two hooks; the difference ends here.
template <class Op, class Derived>
class OutputHooks : public Op {
 public:
#if FL_TORCH_GE(2, 13)
  void set_output_strided(
      int64_t index,
      at::IntArrayRef sizes,
      at::IntArrayRef strides,
      at::TensorOptions options) override {
    derived().template place<true>(index, sizes, strides, options);
    tell_iterator(index, sizes, strides, options);
  }
  void set_output_raw_strided(
      int64_t index,
      at::IntArrayRef sizes,
      at::IntArrayRef strides,
      at::TensorOptions options) override {
    derived().template place<false>(index, sizes, strides, options);
    tell_iterator(index, sizes, strides, options);
  }
#else
  void set_output_strided(
      int64_t index,
      at::IntArrayRef sizes,
      at::IntArrayRef strides,
      at::TensorOptions options,
      at::DimnameList names) override {
    derived().template place<true>(index, sizes, strides, options);
    tell_iterator(index, sizes, strides, options, names);
  }
  void set_output_raw_strided(
      int64_t index,
      at::IntArrayRef sizes,
      at::IntArrayRef strides,
      at::TensorOptions options,
      at::DimnameList names) override {
    derived().template place<false>(index, sizes, strides, options);
    tell_iterator(index, sizes, strides, options, names);
  }
#endif

 private:
  Derived& derived() { return static_cast<Derived&>(*this); }
  template <class... A>
  void tell_iterator(A&&... args) {
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, Op>) {
      Op::set_output_raw_strided(std::forward<A>(args)...);
    }
  }
};

template <class Op, Form F, size_t N>
class Shell final : public OutputHooks<Op, Shell<Op, F, N>> {
 public:
  Shell() = default;
  template <class... G>
  explicit Shell(const at::Tensor& first, const G&... more)
      : given_{&first, &more...} {}

  const at::Tensor& maybe_get_output(int64_t index) override {
    return output(static_cast<size_t>(index));
  }

  // Where to write: a new tensor, the given one, or a proxy for it.
  const at::Tensor& output(size_t index) const {
    if constexpr (F == Form::kFunctional) {
      return made_[index];
    } else {
      return C10_UNLIKELY(made_[index].defined()) ? made_[index]
                                                  : *given_[index];
    }
  }
  at::Tensor release(size_t index) { return std::move(made_[index]); }

  // Copies proxies into the tensors given.
  void finish() const {
    if constexpr (F != Form::kFunctional) {
      for (size_t i = 0; i < N; ++i) {
        if (C10_UNLIKELY(made_[i].defined())) {
          copy_back(*given_[i], made_[i]);
        }
      }
    }
  }

  // TensorIterator has its own check, with CPU scalars allowed.
  template <class... A>
  void check_devices(const A&... args) {
    if constexpr (!std::is_base_of_v<at::TensorIteratorBase, Op>) {
      const at::Tensor* first = nullptr;
      if constexpr (F != Form::kFunctional) {
        for (const at::Tensor* given : given_) {
          see(first, *given);
        }
      }
      (see(first, args), ...);
      if (first != nullptr) {
        scope_.set(first->device());
      }
    }
  }

  template <bool Strict>
  void place(
      int64_t index,
      at::IntArrayRef sizes,
      at::IntArrayRef strides,
      const at::TensorOptions& options) {
    const auto i = static_cast<size_t>(index);
    scope_.set(options.device());
    if constexpr (F == Form::kFunctional) {
      made_[i] = make_strided(sizes, strides, options);
    } else {
      const at::Tensor& given = *given_[i];
      fit(given, sizes, strides, options);
      if constexpr (Strict) {
        if (C10_UNLIKELY(!strides.empty() && given.strides() != strides)) {
          made_[i] = make_strided(sizes, strides, options);
        }
      }
    }
  }

 private:
  static void see(const at::Tensor*& first, const at::Tensor& tensor) {
    if (!tensor.defined()) {
      return;
    }
    if (first == nullptr) {
      first = &tensor;
    } else if (C10_UNLIKELY(tensor.device() != first->device())) {
      check_same_device(*first, tensor);
    }
  }
  static void see(const at::Tensor*& first, const at::ITensorListRef& list) {
    for (const at::Tensor& tensor : list) {
      see(first, tensor);
    }
  }
  static void see(const at::Tensor*& first, const at::OptionalTensorRef& t) {
    if (t.has_value()) {
      see(first, *t);
    }
  }
  template <class Other>
  static void see(const at::Tensor*& /*first*/, const Other& /*not a tensor*/) {
  }

  static void fit(
      const at::Tensor& given,
      at::IntArrayRef sizes,
      at::IntArrayRef strides,
      const at::TensorOptions& options) {
    TORCH_CHECK(
        options.dtype() == given.dtype(),
        "Expected out tensor to have dtype ",
        options.dtype(),
        ", but got ",
        given.dtype(),
        " instead");
    TORCH_CHECK(
        options.device() == given.device(),
        "Expected out tensor to have device ",
        options.device(),
        ", but got ",
        given.device(),
        " instead");
    if constexpr (F == Form::kOut) {
      if (at::native::resize_output(given, sizes)) {
        at::TensorImpl* const impl = given.unsafeGetTensorImpl();
        const std::optional<at::MemoryFormat> format =
            options.memory_format_opt();
        if (!strides.empty()) {
          impl->set_sizes_and_strides(sizes, strides);
        } else if (format.has_value()) {
          impl->empty_tensor_restride(*format);
        }
      }
    } else {
      TORCH_CHECK(
          given.sizes() == sizes,
          "Bad in-place call: input tensor size ",
          given.sizes(),
          " and output tensor size ",
          sizes,
          " should match");
    }
  }

  std::array<const at::Tensor*, N> given_{};
  std::array<at::Tensor, N> made_;
  runtime::DeviceScope scope_;
};

} // namespace torch_fl::ops
