// SPDX-License-Identifier: Apache-2.0
// Views, and what changes a tensor's storage or shape in place.
#include "csrc/allocator/device_allocator.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/memcpy.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>

#include <algorithm>

namespace torch_fl::ops {

namespace {

// Gives a storage at least `bytes`, on the tensor's device, contents kept.
void grow(at::TensorImpl* tensor, size_t bytes) {
  const runtime::DeviceScope scope(tensor->device());
  const c10::Storage& storage = tensor->unsafe_storage();
  if (!storage) {
    tensor->set_storage_keep_dtype(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(),
        bytes,
        allocator::device_allocator(),
        /*resizable=*/true));
    return;
  }
  c10::StorageImpl* const impl = storage.unsafeGetStorageImpl();
  if (bytes <= impl->nbytes()) {
    return;
  }
  TORCH_CHECK(
      impl->resizable(),
      "Trying to resize storage that is not resizable");
  const runtime::Stream stream = runtime::current_stream();
  c10::DataPtr data = allocator::allocate(bytes, stream);
  const size_t kept = std::min(bytes, impl->nbytes());
  if (kept != 0) {
    runtime::copy_async(
        data.get(),
        tensor->device(),
        impl->data(),
        tensor->device(),
        kept,
        stream);
    // The old memory may belong to another stream: it must outlive the copy.
    allocator::record_stream(impl->data_ptr(), stream);
  }
  impl->set_data_ptr_noswap(std::move(data));
  impl->set_nbytes(bytes);
}

// New sizes (row-major, or with strides) and a storage that holds them.
void reshape_storage(
    at::TensorImpl* tensor,
    at::IntArrayRef sizes,
    at::OptionalIntArrayRef strides) {
  if (tensor->sizes() == sizes &&
      (!strides.has_value() || tensor->strides() == *strides)) {
    return;
  }
  const auto offset = static_cast<size_t>(tensor->storage_offset());
  size_t bytes = 0;
  if (strides.has_value()) {
    tensor->set_sizes_and_strides(sizes, *strides);
    bytes = at::detail::computeStorageNbytes(
        sizes,
        *strides,
        tensor->itemsize(),
        offset);
  } else {
    tensor->set_sizes_contiguous(sizes);
    bytes = at::detail::computeStorageNbytesContiguous(
        sizes,
        tensor->itemsize(),
        offset);
  }
  if (tensor->numel() != 0) {
    grow(tensor, bytes);
  }
}

const at::Tensor& resize_(
    const at::Tensor& self,
    at::IntArrayRef sizes,
    std::optional<at::MemoryFormat> memory_format) {
  at::TensorImpl* const impl = self.unsafeGetTensorImpl();
  const size_t before = impl->unsafe_storage() ? self.storage().nbytes() : 0;
  reshape_storage(impl, sizes, std::nullopt);
  if (memory_format.has_value()) {
    TORCH_CHECK(
        *memory_format != at::MemoryFormat::Preserve,
        "Unsupported memory format",
        *memory_format);
    impl->empty_tensor_restride(*memory_format);
  }
  const at::Context& context = at::globalContext();
  if (C10_UNLIKELY(
          context.deterministicAlgorithms() &&
          context.deterministicFillUninitializedMemory())) {
    at::native::fill_resize_deterministic_(self, static_cast<int64_t>(before));
  }
  return self;
}

at::Tensor& set_storage(
    at::Tensor& self,
    at::Storage source,
    int64_t offset,
    at::IntArrayRef sizes,
    at::IntArrayRef strides) {
  at::native::checkSetStorage(self, std::move(source), offset, sizes, strides);
  at::TensorImpl* const impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  reshape_storage(
      impl,
      sizes,
      strides.data() != nullptr ? at::OptionalIntArrayRef(strides)
                                : std::nullopt);
  return self;
}

at::Tensor& set_whole_storage(at::Tensor& self, at::Storage source) {
  const auto numel =
      static_cast<int64_t>(source.nbytes() / self.dtype().itemsize());
  return set_storage(self, std::move(source), 0, {numel}, {});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  TORCH_CHECK(
      self.dtype() == source.dtype(),
      "Could not set tensor of type ",
      source.dtype(),
      " to a tensor of type ",
      self.dtype());
  if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) {
    return self;
  }
  return set_storage(
      self,
      source.storage(),
      source.storage_offset(),
      source.sizes(),
      source.strides());
}

at::Tensor& set_empty(at::Tensor& self) {
  const runtime::DeviceScope scope(self.device());
  const at::Storage storage(
      at::Storage::use_byte_size_t(),
      0,
      allocator::device_allocator(),
      /*resizable=*/true);
  return set_storage(self, storage, 0, {0}, {});
}

at::Tensor view(const at::Tensor& self, at::IntArrayRef sizes) {
  return at::native::view(self, sizes);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&at::native::as_strided_tensorimpl>("as_strided");
  registrar.native<&view>("view");
  registrar.native<&at::native::_reshape_alias>("_reshape_alias");
  registrar.native<&at::native::unfold>("unfold");
  registrar.native<&at::native::view_as_real>("view_as_real");
  registrar.native<&at::native::view_as_complex>("view_as_complex");
  registrar.native<&at::native::is_set_to>("is_set_to");
  registrar.native<&resize_>("resize_");
  registrar.native<&set_empty>("set_");
  registrar.native<&set_tensor>("set_.source_Tensor");
  registrar.native<&set_whole_storage>("set_.source_Storage");
  registrar.native<&set_storage>("set_.source_Storage_storage_offset");
}

} // namespace

} // namespace torch_fl::ops
