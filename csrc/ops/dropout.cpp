// SPDX-License-Identifier: Apache-2.0
// native_dropout and its backward pass.
#include "csrc/mudnn/dropout.h"
#include "csrc/ops/output.h"
#include "csrc/rng/generator.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ops/bernoulli.h>
#include <ATen/ops/native_dropout_backward_ops.h>
#include <ATen/ops/native_dropout_ops.h>

#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Tensor;

Tensor mask_like(const Tensor& input) {
  return make_strided(
      input.sizes(),
      input.strides(),
      input.options().dtype(at::kBool));
}

std::tuple<Tensor, Tensor>
native_dropout(const Tensor& given, double p, std::optional<bool> training) {
  if (!c10::isFloatingType(given.scalar_type())) {
    return routing::to_cpu<at::_ops::native_dropout>::call(given, p, training);
  }
  TORCH_CHECK(
      p >= 0 && p <= 1,
      "dropout probability has to be between 0 and 1, but got ",
      p);
  const runtime::DeviceScope scope(given.device());
  const Tensor input =
      given.is_non_overlapping_and_dense() ? given : given.contiguous();
  Tensor mask = mask_like(input);
  if (!training.value_or(true) || p == 0) {
    return {input.clone(), mask.fill_(true)};
  }
  Tensor out = make_strided(input.sizes(), input.strides(), input.options());
  if (p == 1) {
    return {out.zero_(), mask.fill_(false)};
  }
  if (input.numel() == 0) {
    return {std::move(out), std::move(mask)};
  }
  if (!mudnn::can_drop(input.scalar_type())) {
    mask.bernoulli_(1 - p);
    out.copy_(input.mul(mask.to(input.scalar_type())).mul_(1 / (1 - p)));
    return {std::move(out), std::move(mask)};
  }
  const rng::Philox place =
      rng::reserve(std::nullopt, static_cast<uint64_t>(input.numel()));
  mudnn::dropout(out, mask, input, p, {place.seed, place.offset, place.words});
  return {std::move(out), std::move(mask)};
}

Tensor
native_dropout_backward(const Tensor& given, const Tensor& mask, double scale) {
  TORCH_CHECK(
      mask.scalar_type() == at::kBool,
      "Mask should be Bool Scalar Type",
      mask.scalar_type());
  if (!c10::isFloatingType(given.scalar_type())) {
    return routing::to_cpu<at::_ops::native_dropout_backward>::call(
        given,
        mask,
        scale);
  }
  check_same_device(given, mask);
  const runtime::DeviceScope scope(given.device());
  if (!mudnn::can_drop(given.scalar_type())) {
    return given.mul(mask.to(given.scalar_type())).mul_(scale);
  }
  const bool alike =
      given.strides() == mask.strides() && given.is_non_overlapping_and_dense();
  const Tensor grad = alike ? given : given.contiguous();
  const Tensor kept = alike ? mask : mask.contiguous();
  Tensor out = make_strided(grad.sizes(), grad.strides(), grad.options());
  if (grad.numel() != 0) {
    mudnn::dropout_backward(out, grad, kept, scale);
  }
  return out;
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&native_dropout>("native_dropout");
  registrar.native<&native_dropout_backward>("native_dropout_backward");
}

} // namespace torch_fl::ops
