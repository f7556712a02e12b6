// SPDX-License-Identifier: Apache-2.0
// Devices: start and errors.
#include "toolkit/engine/cuda/device.h"

#include "toolkit/engine/cuda/start.h"
#include "toolkit/engine/fault.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace musa_standin::engine::cuda {
namespace {

using Lock = std::lock_guard<std::mutex>;

std::atomic<Device*> g_devices[kMaxDevices];
std::mutex g_devices_mutex;

// One write, so that lines of several threads do not mix.
void print(int device, const char* task, musaError_t code, const char* what) {
  char line[512];
  const int length = std::snprintf(
      line,
      sizeof line,
      "musa: device %d: %s failed: %s (%s)\n",
      device,
      *task != '\0' ? task : "a task",
      what,
      error_name(code));
  if (length > 0) {
    const size_t bytes = std::min(static_cast<size_t>(length), sizeof line - 1);
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, bytes);
  }
}

Stream& default_stream(int device, cudaStream_t native) {
  Stream& stream = stream_table().take();
  stream.open(device, musaStreamDefault, 0, native);
  return stream;
}

} // namespace

Device* device_if_started(int index) noexcept {
  return g_devices[index].load(std::memory_order_acquire);
}

Device* current_device_if_started() noexcept {
  int current = -1;
  if (cudaGetDevice(&current) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  for (int i = 0; i < kMaxDevices; ++i) {
    Device* at = device_if_started(i);
    if (at != nullptr && g_ordinals[i] == current) {
      return at;
    }
  }
  return nullptr;
}

Device& device(int index) {
  Device* at = device_if_started(index);
  if (__builtin_expect(at != nullptr, 1)) {
    return *at;
  }
  if (device_count() == 0) {
    throw Error(musaErrorNoDevice, "this machine has no MUSA device");
  }
  const Lock lock(g_devices_mutex);
  at = device_if_started(index);
  if (at == nullptr) {
    at = new Device(index);
    g_devices[index].store(at, std::memory_order_release);
  }
  return *at;
}

// The context comes to life with the device.
Device::Device(int index) : index_(index) {
  check(cudaSetDevice(g_ordinals[index]));
  check(cudaDeviceGetAttribute(
      &multiprocessors_,
      cudaDevAttrMultiProcessorCount,
      g_ordinals[index]));
  make_error_slot();
  legacy_ = &default_stream(index, cudaStreamLegacy);
  per_thread_ = &default_stream(index, cudaStreamPerThread);
}

DeviceError* Device::make_error_slot() {
  const Lock lock(error_mutex_);
  DeviceError* slot = slot_.load(std::memory_order_relaxed);
  if (slot == nullptr) {
    use_device(index_);
    void* memory = nullptr;
    check(cudaHostAlloc(
        &memory,
        sizeof(DeviceError),
        cudaHostAllocPortable | cudaHostAllocMapped));
    slot = static_cast<DeviceError*>(memory);
    slot->word = 0;
    slot_.store(slot, std::memory_order_release);
  }
  return slot;
}

DeviceError* error_slot(int index) {
  return device(index).error_slot();
}

void Device::keep_error(musaError_t code, const char* what, const char* task) {
  {
    const Lock lock(error_mutex_);
    if (planted("lost_error")) {
      return;
    }
    const bool sticky_now = is_sticky(code) && sticky() == musaSuccess;
    if (has_error_.load(std::memory_order_relaxed) && !sticky_now) {
      return; // only the first is kept
    }
    print(index_, task, code, what);
    error_ = code;
    error_what_ = what;
    error_task_ = task;
    has_error_.store(true, std::memory_order_release);
    if (!sticky_now) {
      return;
    }
    sticky_.store(code, std::memory_order_release);
  }
  g_gate.fetch_or(kGateSticky);
}

void Device::take_reported() {
  DeviceError* slot = slot_.load(std::memory_order_acquire);
  if (slot == nullptr || __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE) == 0) {
    return;
  }
  const unsigned long long word =
      __atomic_exchange_n(&slot->word, 0ULL, __ATOMIC_ACQ_REL);
  if (word == 0) {
    return; // another thread has it
  }
  const auto code = static_cast<musaError_t>(word >> kErrorCodeShift);
  const auto* task =
      reinterpret_cast<const char*>(word & ((1ULL << kErrorCodeShift) - 1));
  const std::string what = std::string(task) + ": " + error_text(code);
  keep_error(code, what.c_str(), task);
}

void Device::throw_error() {
  take_reported();
  if (__builtin_expect(!has_error_.load(std::memory_order_acquire), 1)) {
    return;
  }
  const Lock lock(error_mutex_);
  if (!has_error_.load(std::memory_order_relaxed)) {
    return;
  }
  const Error error(error_, error_what_, error_task_);
  if (sticky() == musaSuccess) {
    has_error_.store(false, std::memory_order_release);
  }
  throw Error(error);
}

const char* Device::failed_task() {
  const Lock lock(error_mutex_);
  return has_error_.load(std::memory_order_relaxed) ? error_task_ : "";
}

} // namespace musa_standin::engine::cuda
