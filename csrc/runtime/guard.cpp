// SPDX-License-Identifier: Apache-2.0
// The device guard: how torch's generic code reaches devices, streams, events.
#include "csrc/runtime/event.h"
#include "csrc/runtime/torch_version.h"

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace torch_fl::runtime {
namespace {

constexpr c10::DeviceType kFlagos = c10::DeviceType::PrivateUse1;

PooledEvent* as_event(void* event) {
  return static_cast<PooledEvent*>(event);
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  // NOLINTNEXTLINE(readability-identifier-naming): torch's inline guards
  // ask for this name.
  static constexpr c10::DeviceType static_type = kFlagos;

  c10::DeviceType type() const override { return kFlagos; }

  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device old = getDevice();
    setDevice(device);
    return old;
  }

  c10::Device getDevice() const override { return {kFlagos, current_device()}; }

  void setDevice(c10::Device device) const override {
    TORCH_CHECK_VALUE(
        device.type() == kFlagos,
        "a flagos device was expected, got ",
        device,
        ".");
    if (device.index() != current_device()) {
      set_device(checked_index(device.index()));
    }
  }

  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() != current_device()) {
      restore_device(device.index());
    }
  }

  c10::Stream getStream(c10::Device device) const override {
    return current_stream(device.index()).unwrap();
  }

  c10::Stream getDefaultStream(c10::Device device) const override {
    return default_stream(device.index()).unwrap();
  }

  c10::Stream getStreamFromGlobalPool(c10::Device device, bool high_priority)
      const override {
    return pool_stream(
               device.index(),
               high_priority ? priority_range().second : 0)
        .unwrap();
  }

  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return pool_stream(device.index(), priority).unwrap();
  }

  c10::Stream exchangeStream(c10::Stream stream) const override {
    const Stream next(stream);
    const c10::Stream old = current_stream(next.device()).unwrap();
    set_current_stream(next);
    return old;
  }

  c10::DeviceIndex deviceCount() const noexcept override {
    return device_count();
  }

  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    give_event(as_event(event));
  }

  void record(
      void** event,
      const c10::Stream& stream,
      c10::DeviceIndex device,
      c10::EventFlag flag) const override {
    const Stream target(stream);
    TORCH_CHECK_VALUE(
        device == -1 || device == target.device(),
        "an event of flagos:",
        static_cast<int>(device),
        " cannot be recorded on a stream of ",
        stream.device(),
        ".");
    if (*event == nullptr) {
      *event =
          take_event(target.device(), flag == c10::EventFlag::BACKEND_DEFAULT);
    }
    record_event(*as_event(*event), target);
  }

  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) {
      wait_event(Stream(stream), *as_event(event));
    }
  }

  bool queryEvent(void* event) const override {
    return event == nullptr || query_event(*as_event(event));
  }

  void synchronizeEvent(void* event) const override {
    if (event != nullptr) {
      synchronize_event(*as_event(event));
    }
  }

  double elapsedTime(void* start, void* end, c10::DeviceIndex) const override {
    TORCH_CHECK_VALUE(
        start != nullptr && end != nullptr,
        "elapsed time needs two recorded events.");
    return elapsed_ms(*as_event(start), *as_event(end));
  }

  bool queryStream(const c10::Stream& stream) const override {
    return Stream(stream).query();
  }

  void synchronizeStream(const c10::Stream& stream) const override {
    Stream(stream).synchronize();
  }

  void synchronizeDevice(c10::DeviceIndex device) const override {
    synchronize_device(device);
  }

  void recordDataPtrOnStream(
      const c10::DataPtr& data,
      const c10::Stream& stream) const override {
    c10::getDeviceAllocator(kFlagos)->recordStream(data, stream);
  }

  // Dtypes that tensors can hold and be cast between on the device.
  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    c10::DeviceCapability result;
    uint64_t bits = 0;
    for (const int index :
         {c10::kIndex_Byte,
          c10::kIndex_Char,
          c10::kIndex_Short,
          c10::kIndex_Int,
          c10::kIndex_Long,
          c10::kIndex_Half,
          c10::kIndex_Float,
          c10::kIndex_Double,
          c10::kIndex_Bool,
          c10::kIndex_BFloat16}) {
      bits |= uint64_t{1} << index;
    }
    result.capability_data.capability_bits = bits;
    return result;
  }

#if FL_TORCH_GE(2, 11)
  void* getStreamNativeHandle(c10::Stream stream) const override {
    return Stream(stream).handle();
  }
#endif

#if FL_TORCH_GE(2, 13)
  // Graph capture does not exist here yet.
  bool isStreamCapturing(const c10::Stream&) const override { return false; }
#endif
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

} // namespace
} // namespace torch_fl::runtime
