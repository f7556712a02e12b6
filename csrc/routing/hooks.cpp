// SPDX-License-Identifier: Apache-2.0
// Answers torch's questions about the accelerator.
#include "csrc/routing/hooks.h"

#include "csrc/allocator/device_allocator.h"
#include "csrc/allocator/host_allocator.h"
#include "csrc/rng/generator.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/fork.h"
#include "csrc/runtime/memcpy.h"

#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <algorithm>

namespace torch_fl::routing {
namespace {

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }

  bool isAvailable() const override {
    return runtime::device_count() > 0 && !runtime::is_in_bad_fork();
  }

  bool hasPrimaryContext(c10::DeviceIndex index) const override {
    return runtime::has_primary_context(index);
  }

  void init() const override { runtime::initialize(); }

  c10::DeviceIndex deviceCount() const override {
    return runtime::device_count();
  }

  c10::DeviceIndex getCurrentDevice() const override {
    return runtime::current_device();
  }

  void setCurrentDevice(c10::DeviceIndex index) const override {
    runtime::set_device(runtime::checked_index(index));
  }

  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    const c10::DeviceIndex old = runtime::current_device();
    setCurrentDevice(index);
    return old;
  }

  // A negative index leaves everything as it is.
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return index < 0 ? runtime::current_device() : exchangeDevice(index);
  }

  bool isPinnedPtr(const void* data) const override {
    return allocator::is_pinned(data);
  }

  at::Allocator* getPinnedMemoryAllocator() const override {
    return allocator::host_allocator();
  }

  at::Device getDeviceFromPtr(void* data) const override {
    return {c10::DeviceType::PrivateUse1, runtime::device_of_pointer(data)};
  }

  const at::Generator& getDefaultGenerator(
      c10::DeviceIndex index) const override {
    return rng::default_generator(index);
  }

  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return rng::make_generator(index);
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes)
      const override {
    c10::StorageImpl* impl = storage.unsafeGetStorageImpl();
    TORCH_CHECK(impl->resizable(), "a storage that cannot be resized was.");
    const runtime::DeviceScope scope(impl->device());
    const runtime::Stream stream = runtime::current_stream();
    c10::DataPtr fresh = allocator::allocate(bytes, stream);
    const size_t kept = std::min(bytes, impl->nbytes());
    runtime::copy_async(
        fresh.get(),
        impl->device(),
        impl->data(),
        impl->device(),
        kept,
        stream);
    // The old memory may belong to another stream: it must outlive the copy.
    allocator::record_stream(impl->data_ptr(), stream);
    impl->set_data_ptr_noswap(std::move(fresh));
    impl->set_nbytes(bytes);
  }
};

void record_stream(at::Tensor& self, at::Stream stream) {
  allocator::record_stream(self.storage().data_ptr(), runtime::Stream(stream));
}

// Registered as the library loads, before anything can ask for an accelerator.
const Hooks* register_hooks() {
  auto* instance = new Hooks();
  at::RegisterPrivateUse1HooksInterface(instance);
  return instance;
}

const Hooks* const kRegistered = register_hooks();

} // namespace

const at::PrivateUse1HooksInterface& hooks() {
  return *kRegistered;
}

// Not an operator that could be routed elsewhere: it speaks to the allocator.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("record_stream", TORCH_FN(record_stream));
}

} // namespace torch_fl::routing
