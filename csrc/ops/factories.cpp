// SPDX-License-Identifier: Apache-2.0
// New tensors whose contents nobody computes.
#include "csrc/allocator/device_allocator.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>

namespace torch_fl::ops {

namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

void check_options(
    std::optional<at::Layout> layout,
    std::optional<bool> pin_memory) {
  TORCH_CHECK(
      !pin_memory.value_or(false),
      "Only dense CPU tensors can be pinned, not tensors of device flagos");
  TORCH_CHECK_NOT_IMPLEMENTED(
      layout.value_or(at::kStrided) == at::kStrided,
      "flagos has strided tensors only, not ",
      layout.value_or(at::kStrided));
}

// Switches to the device asked for; no device, or one without an index, means
// the current one.
void enter(runtime::DeviceScope& scope, std::optional<at::Device> device) {
  if (device.has_value() && device->has_index()) {
    scope.set(runtime::checked_index(device->index()));
  } else {
    runtime::require_device();
  }
}

at::Tensor filled_if_deterministic(at::Tensor tensor) {
  const at::Context& context = at::globalContext();
  if (C10_UNLIKELY(
          context.deterministicAlgorithms() &&
          context.deterministicFillUninitializedMemory())) {
    at::native::fill_empty_deterministic_(tensor);
  }
  return tensor;
}

at::Tensor empty_memory_format(
    at::IntArrayRef sizes,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory,
    std::optional<at::MemoryFormat> memory_format) {
  check_options(layout, pin_memory);
  runtime::DeviceScope scope;
  enter(scope, device);
  return filled_if_deterministic(at::detail::empty_generic(
      sizes,
      allocator::device_allocator(),
      kKeys,
      dtype.value_or(c10::get_default_dtype_as_scalartype()),
      memory_format));
}

at::Tensor empty_strided(
    at::IntArrayRef sizes,
    at::IntArrayRef strides,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  runtime::DeviceScope scope;
  enter(scope, device);
  return filled_if_deterministic(at::detail::empty_strided_generic(
      sizes,
      strides,
      allocator::device_allocator(),
      kKeys,
      dtype.value_or(c10::get_default_dtype_as_scalartype())));
}

// A tensor of zeros without memory, as autograd makes for complex and
// forward-mode derivatives.
at::Tensor efficient_zero_tensor(
    at::IntArrayRef sizes,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  runtime::DeviceScope scope;
  enter(scope, device);
  at::native::ZeroTensorAllocator none(
      at::Device(at::kPrivateUse1, runtime::current_device()));
  return at::detail::empty_generic(
      sizes,
      &none,
      kKeys | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor),
      dtype.value_or(c10::get_default_dtype_as_scalartype()),
      std::nullopt);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&empty_memory_format>("empty.memory_format");
  registrar.native<&empty_strided>("empty_strided");
  registrar.native<&efficient_zero_tensor>("_efficientzerotensor");
}

} // namespace

} // namespace torch_fl::ops
