// SPDX-License-Identifier: Apache-2.0
// New device tensors without a trip through the dispatcher.
#include "csrc/ops/output.h"

#include "csrc/allocator/device_allocator.h"

#include <ATen/EmptyTensor.h>

namespace torch_fl::ops {

namespace {
constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);
} // namespace

at::Tensor make_dense(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::detail::empty_generic(
      sizes,
      allocator::device_allocator(),
      kKeys,
      dtype,
      std::nullopt);
}

at::Tensor make_strided(
    at::IntArrayRef sizes,
    at::IntArrayRef strides,
    const at::TensorOptions& options) {
  const auto dtype = c10::typeMetaToScalarType(options.dtype());
  if (!strides.empty()) {
    return at::detail::empty_strided_generic(
        sizes,
        strides,
        allocator::device_allocator(),
        kKeys,
        dtype);
  }
  return at::detail::empty_generic(
      sizes,
      allocator::device_allocator(),
      kKeys,
      dtype,
      options.memory_format_opt());
}

void copy_back(const at::Tensor& destination, const at::Tensor& source) {
  destination.copy_(source);
}

void check_same_device(const at::Tensor& first, const at::Tensor& other) {
  TORCH_CHECK(
      !first.defined() || !other.defined() || first.device() == other.device(),
      "Expected all tensors to be on the same device, but found at least two "
      "devices, ",
      first.device(),
      " and ",
      other.device(),
      "!");
}

} // namespace torch_fl::ops
