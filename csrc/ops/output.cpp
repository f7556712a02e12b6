// SPDX-License-Identifier: Apache-2.0
// New device tensors without a trip through the dispatcher.
#include "csrc/ops/output.h"

#include "csrc/allocator/device_allocator.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

namespace torch_fl::ops {

namespace {
constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);
} // namespace

// What at::detail::empty_generic does for this allocator and format, about 110
// instructions shorter. Sizes that cannot be are left for it to refuse.
at::Tensor make_dense(at::IntArrayRef sizes, at::ScalarType dtype) {
  const auto type = c10::scalarTypeToTypeMeta(dtype);
  auto bytes = static_cast<int64_t>(type.itemsize());
  bool possible = true;
  for (const int64_t size : sizes) {
    possible &= size >= 0 && !__builtin_mul_overflow(bytes, size, &bytes);
  }
  if (C10_UNLIKELY(!possible)) {
    return at::detail::empty_generic(
        sizes,
        allocator::device_allocator(),
        kKeys,
        dtype,
        std::nullopt);
  }
  const auto size = static_cast<size_t>(bytes);
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      c10::make_intrusive<c10::StorageImpl>(
          c10::StorageImpl::use_byte_size_t(),
          size,
          allocator::allocate(size, runtime::current_stream()),
          allocator::device_allocator(),
          /*resizable=*/true),
      kKeys,
      type);
  if (sizes.size() != 1 || sizes[0] != 0) {
    made.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  }
  return made;
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

void check_out(
    const at::Tensor& out,
    at::ScalarType dtype,
    const at::Tensor& like) {
  check_same_device(like, out);
  TORCH_CHECK(
      out.scalar_type() == dtype,
      "Expected out tensor to have dtype ",
      dtype,
      ", but got ",
      out.scalar_type(),
      " instead");
}

} // namespace torch_fl::ops
