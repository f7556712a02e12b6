// SPDX-License-Identifier: Apache-2.0
// Activations that are a mode of muDNN.
#include "csrc/ops/elementwise.h"

#include <ATen/ops/hardsigmoid_meta.h>
#include <ATen/ops/hardtanh_native.h>
#include <ATen/ops/mish_meta.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using mudnn::Number;
using mudnn::Operands;
using mudnn::UnaryMode;

template <class Meta, UnaryMode mode>
struct Activation : Meta {
  static bool quick(at::ScalarType type) { return plain_float(type); }
  static void kernel(const Operands& v) {
    if constexpr (mode == UnaryMode::HARDSIGMOID) {
      // Both numbers must be set: they are 0 otherwise (quirk 9).
      mudnn::unary(v, mode, Number(1.0 / 6), Number(0.5));
    } else {
      mudnn::unary(v, mode);
    }
  }
  bool accepts(const Tensor& /*self*/) {
    return plain_float(this->common_dtype()) && readable(*this);
  }
  void impl(const Tensor& /*self*/, const Tensor& /*out*/) {
    kernel(Operands(*this, this->common_dtype()));
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  structured<
      Activation<at::meta::structured_hardsigmoid, UnaryMode::HARDSIGMOID>>(
      r,
      "hardsigmoid",
      "hardsigmoid_",
      "hardsigmoid.out");
  structured<Activation<SameTypeMeta, UnaryMode::HARDSWISH>>(
      r,
      "hardswish",
      "hardswish_",
      "hardswish.out");
  structured<Activation<at::meta::structured_mish, UnaryMode::MISH>>(
      r,
      "mish",
      "mish_",
      "mish.out");
  // Torch's own clamps, after its checks.
  r.native<&at::native::hardtanh>("hardtanh");
  r.native<&at::native::hardtanh_>("hardtanh_");
  r.native<&at::native::hardtanh_out>("hardtanh.out");
}

} // namespace

} // namespace torch_fl::ops
