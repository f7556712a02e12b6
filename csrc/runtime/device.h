// SPDX-License-Identifier: Apache-2.0
// Devices: count, the thread's current device, the scope that switches it.
#pragma once

#include "csrc/runtime/error.h"
#include "csrc/runtime/thread_state.h"

#include <c10/core/Device.h>

#include <cstddef>
#include <string>
#include <utility>

namespace torch_fl::runtime {

// Devices that tables are sized for; a machine with more is used up to here.
constexpr c10::DeviceIndex kMaxDevices = 64;

// Number of devices; 0 on any error. Asked once, starts nothing on a device.
FL_API c10::DeviceIndex device_count() noexcept;
// Why that is 0, if it is for another reason than that there is no device.
FL_API std::string device_count_error();

// Throws one sentence if there is no device or the process is a forked child
// of one that used devices.
FL_API void require_device();

// Throws unless 0 <= index < device_count(); -1 becomes the current device.
FL_API c10::DeviceIndex checked_index(c10::DeviceIndex index);

// The calling thread's current device: one thread-local load.
inline c10::DeviceIndex current_device() {
  return thread_state.device;
}

// Makes a device current for the calling thread; calls musart only on change.
FL_API void set_device_slow(c10::DeviceIndex index);
inline void set_device(c10::DeviceIndex index) {
  if (C10_UNLIKELY(thread_state.device != index || !thread_state.bound)) {
    set_device_slow(index);
  }
}

// Switches back to the device of construction; for destructors.
FL_API void restore_device(c10::DeviceIndex index) noexcept;

// Makes a device current until the end of the scope. Throws if it cannot.
class DeviceScope {
 public:
  DeviceScope() = default;
  explicit DeviceScope(c10::Device device) { set(device); }
  explicit DeviceScope(c10::DeviceIndex index) { set(index); }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  DeviceScope(DeviceScope&&) = delete;
  DeviceScope& operator=(DeviceScope&&) = delete;
  ~DeviceScope() {
    if (C10_UNLIKELY(old_ >= 0)) {
      restore_device(old_);
    }
  }

  // A device without an index means the current one.
  void set(c10::Device device) { set(device.index()); }
  void set(c10::DeviceIndex index) {
    if (C10_UNLIKELY(thread_state.device != index && index >= 0)) {
      const c10::DeviceIndex before = thread_state.device;
      set_device_slow(index);
      if (old_ < 0) {
        old_ = before;
      }
    }
  }

 private:
  c10::DeviceIndex old_ = -1;
};

// Whether a device's context exists (something ran or was allocated on it).
FL_API bool has_primary_context(c10::DeviceIndex index) noexcept;
// Notes that a device is in use; called by whatever first touches it.
FL_API void mark_used(c10::DeviceIndex index) noexcept;
// Whether any device was used by this process.
FL_API bool is_initialized() noexcept;
// Creates the current device's context.
FL_API void initialize();

// Blocks until everything submitted to a device is done.
FL_API void synchronize_device(c10::DeviceIndex index);

// The device that owns a pointer; throws if none does.
FL_API c10::DeviceIndex device_of_pointer(const void* pointer);

// Free and total bytes of a device.
FL_API std::pair<size_t, size_t> memory_info(c10::DeviceIndex index);

// What torch.flagos.get_device_properties shows.
struct DeviceProperties {
  std::string name;
  int major = 0;
  int minor = 0;
  size_t total_memory = 0;
  int multi_processor_count = 0;
  int warp_size = 0;
  int max_threads_per_block = 0;
  int max_threads_per_multi_processor = 0;
  int regs_per_multiprocessor = 0;
  size_t shared_memory_per_block = 0;
  size_t shared_memory_per_block_optin = 0;
  size_t shared_memory_per_multiprocessor = 0;
  int l2_cache_size = 0;
  bool is_integrated = false;
  int clock_rate = 0;
  int memory_clock_rate = 0;
  int memory_bus_width = 0;
  int pci_bus_id = 0;
  int pci_device_id = 0;
  int pci_domain_id = 0;
};
FL_API DeviceProperties device_properties(c10::DeviceIndex index);

} // namespace torch_fl::runtime
