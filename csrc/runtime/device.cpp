// SPDX-License-Identifier: Apache-2.0
// Counts, switches and describes devices.
#include "csrc/runtime/device.h"

#include "csrc/runtime/fork.h"
#include "csrc/runtime/stream_table.h"
#include "csrc/runtime/toolkit.h"

#include <atomic>
#include <new>

namespace torch_fl::runtime {

FL_CONSTINIT_THREAD_LOCAL ThreadState thread_state
    __attribute__((tls_model("initial-exec")));

namespace {

struct Count {
  musaError_t code = musaSuccess;
  c10::DeviceIndex devices = 0;
  std::string why;
};

Count ask_for_devices() noexcept {
  Count result;
  int devices = 0;
  result.code = musaGetDeviceCount(&devices);
  if (result.code != musaSuccess) {
    try {
      const std::string message = toolkit_message();
      result.why = std::string(musaGetErrorName(result.code)) + ", " +
          (message.empty() ? musaGetErrorString(result.code) : message);
    } catch (const std::bad_alloc&) {
      result.why.clear(); // the code alone has to do
    }
    static_cast<void>(musaGetLastError());
    return result;
  }
  result.devices = devices < kMaxDevices
      ? static_cast<c10::DeviceIndex>(devices)
      : kMaxDevices;
  return result;
}

// The answer cannot change while a process runs, and a forked child may not
// ask.
const Count& count() noexcept {
  static const Count result = ask_for_devices();
  return result;
}

std::atomic<bool> used[kMaxDevices];
std::atomic<bool> any_used{false};

int attribute(musaDeviceAttr name, c10::DeviceIndex index) {
  int value = 0;
  FL_MUSA_CHECK(musaDeviceGetAttribute(&value, name, index));
  return value;
}

} // namespace

c10::DeviceIndex device_count() noexcept {
  return count().devices;
}

std::string device_count_error() {
  return count().code == musaErrorNoDevice ? std::string() : count().why;
}

void require_device() {
  if (C10_UNLIKELY(is_in_bad_fork())) {
    raise_bad_fork();
  }
  if (device_count() == 0) {
    const std::string why = device_count_error();
    TORCH_CHECK(
        false,
        "no flagos device was found on this machine",
        why.empty() ? "" : ", since musaGetDeviceCount says " + why,
        ": torch.flagos.is_available() is False.");
  }
}

c10::DeviceIndex checked_index(c10::DeviceIndex index) {
  require_device();
  if (index == -1) {
    return thread_state.device;
  }
  TORCH_CHECK(
      index >= 0 && index < device_count(),
      "flagos:",
      static_cast<int>(index),
      " does not exist: this machine has ",
      static_cast<int>(device_count()),
      " flagos device(s), numbered from 0.");
  return index;
}

void set_device_slow(c10::DeviceIndex index) {
  const c10::DeviceIndex next = checked_index(index);
  FL_MUSA_CHECK(musaSetDevice(next));
  if (next != thread_state.device) {
    switch_streams(next);
    thread_state.device = next;
  }
  thread_state.bound = true;
}

void restore_device(c10::DeviceIndex index) noexcept {
  try {
    set_device(index);
  } catch (const c10::Error& error) {
    if (!is_in_bad_fork()) {
      warn_text(
          std::string("cannot switch back to a device: ") +
          error.what_without_backtrace());
    }
  }
}

bool has_primary_context(c10::DeviceIndex index) noexcept {
  return index >= 0 && index < kMaxDevices &&
      used[index].load(std::memory_order_relaxed) && !is_in_bad_fork();
}

void mark_used(c10::DeviceIndex index) noexcept {
  if (index >= 0 && index < kMaxDevices) {
    used[index].store(true, std::memory_order_relaxed);
    any_used.store(true, std::memory_order_relaxed);
  }
}

bool is_initialized() noexcept {
  return any_used.load(std::memory_order_relaxed);
}

void initialize() {
  const c10::DeviceIndex index = checked_index(-1);
  if (!has_primary_context(index)) {
    set_device_slow(index);
    // The usual way to have a context made: a free of nothing.
    FL_MUSA_CHECK(musaFree(nullptr));
    mark_used(index);
  }
}

void synchronize_device(c10::DeviceIndex index) {
  const c10::DeviceIndex checked = checked_index(index);
  if (!has_primary_context(checked)) {
    return; // nothing was ever submitted there
  }
  const DeviceScope scope(checked);
  FL_MUSA_CHECK(musaDeviceSynchronize());
}

c10::DeviceIndex device_of_pointer(const void* pointer) {
  require_device();
  musaPointerAttributes attributes{};
  const musaError_t code = musaPointerGetAttributes(&attributes, pointer);
  if (code != musaSuccess) {
    static_cast<void>(musaGetLastError());
  }
  TORCH_CHECK_VALUE(
      code == musaSuccess &&
          (attributes.type == musaMemoryTypeDevice ||
           attributes.type == musaMemoryTypeManaged),
      "the address ",
      pointer,
      " is not memory of a flagos device.");
  return static_cast<c10::DeviceIndex>(attributes.device);
}

std::pair<size_t, size_t> memory_info(c10::DeviceIndex index) {
  const DeviceScope scope(checked_index(index));
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  FL_MUSA_CHECK(musaMemGetInfo(&free_bytes, &total_bytes));
  mark_used(thread_state.device);
  return {free_bytes, total_bytes};
}

// Everything but the name comes from attributes: the structure's layout and
// some of its fields differ between SDKs.
DeviceProperties device_properties(c10::DeviceIndex index) {
  const c10::DeviceIndex device = checked_index(index);
  const auto get = [device](musaDeviceAttr name) {
    return attribute(name, device);
  };
  const auto bytes = [&get](musaDeviceAttr name) {
    return static_cast<size_t>(get(name));
  };
  musaDeviceProp raw{};
  FL_MUSA_CHECK(musaGetDeviceProperties(&raw, device));
  DeviceProperties result;
  result.name = raw.name;
  result.total_memory = raw.totalGlobalMem;
  result.major = get(musaDevAttrComputeCapabilityMajor);
  result.minor = get(musaDevAttrComputeCapabilityMinor);
  result.multi_processor_count = get(musaDevAttrMultiProcessorCount);
  result.warp_size = get(musaDevAttrWarpSize);
  result.max_threads_per_block = get(musaDevAttrMaxThreadsPerBlock);
  result.max_threads_per_multi_processor =
      get(musaDevAttrMaxThreadsPerMultiProcessor);
  result.regs_per_multiprocessor =
      get(musaDevAttrMaxRegistersPerMultiprocessor);
  result.shared_memory_per_block = bytes(musaDevAttrMaxSharedMemoryPerBlock);
  result.shared_memory_per_block_optin =
      bytes(musaDevAttrMaxSharedMemoryPerBlockOptin);
  result.shared_memory_per_multiprocessor =
      bytes(musaDevAttrMaxSharedMemoryPerMultiprocessor);
  result.l2_cache_size = get(musaDevAttrL2CacheSize);
  result.is_integrated = get(musaDevAttrIntegrated) != 0;
  result.clock_rate = get(musaDevAttrClockRate);
  result.memory_clock_rate = get(musaDevAttrMemoryClockRate);
  result.memory_bus_width = get(musaDevAttrGlobalMemoryBusWidth);
  result.pci_bus_id = get(musaDevAttrPciBusId);
  result.pci_device_id = get(musaDevAttrPciDeviceId);
  result.pci_domain_id = get(musaDevAttrPciDomainId);
  return result;
}

} // namespace torch_fl::runtime
