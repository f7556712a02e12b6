// SPDX-License-Identifier: Apache-2.0
// Devices: start, errors, settings, reset.
#include "toolkit/engine/cuda/device.h"

#include "toolkit/engine/cuda/error_map.h"
#include "toolkit/engine/cuda/event.h"
#include "toolkit/engine/cuda/flag_map.h"
#include "toolkit/engine/cuda/host_function.h"
#include "toolkit/engine/cuda/mem_pool.h"
#include "toolkit/engine/cuda/memory.h"
#include "toolkit/engine/cuda/properties.h"
#include "toolkit/engine/cuda/start.h"

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

// Up for as long as it lives.
class Flag {
 public:
  explicit Flag(std::atomic<bool>& flag) : flag_(flag) { flag_.store(true); }
  ~Flag() { flag_.store(false); }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

 private:
  std::atomic<bool>& flag_;
};

Stream& default_stream(int device, cudaStream_t native) {
  Stream& stream = stream_table().take();
  stream.open(device, musaStreamDefault, 0, native);
  return stream;
}

// Some device has a sticky error, or none has. Called after each change, and
// one call at a time: the last one has seen them all.
void update_sticky_gate() {
  static std::mutex mutex;
  const Lock lock(mutex);
  bool any = false;
  for (auto& slot : g_devices) {
    const Device* at = slot.load(std::memory_order_acquire);
    any = any || (at != nullptr && at->sticky() != musaSuccess);
  }
  if (any) {
    g_gate.fetch_or(kGateSticky);
  } else {
    g_gate.fetch_and(~static_cast<uint32_t>(kGateSticky));
  }
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

void synchronize_all() {
  for (int i = 0; i < device_count(); ++i) {
    const Device* at = device_if_started(i);
    if (at != nullptr && at->sticky() == musaSuccess) {
      at->end_work();
    }
  }
}

Device::Device(int index) : index_(index) {
  make_context();
  legacy_ = &default_stream(index, cudaStreamLegacy);
  per_thread_ = &default_stream(index, cudaStreamPerThread);
}

void Device::make_context() {
  check(cudaSetDevice(g_ordinals[index_]));
  const musaDeviceProp& known = properties(index_);
  multiprocessors_ = known.multiProcessorCount;
  memory_bytes_ = known.totalGlobalMem;
  make_error_slot();
}

void Device::wait() const {
  use_device(index_);
  check(cudaDeviceSynchronize());
}

bool Device::end_work() const noexcept {
  cudaError_t result = cudaSetDevice(g_ordinals[index_]);
  if (result == cudaSuccess) {
    result = cudaDeviceSynchronize();
  }
  ignore(result);
  return result != cudaSuccess;
}

// --- errors ---

DeviceError* Device::make_error_slot() {
  // Without error_mutex_, which a failure's own record takes.
  use_device(index_);
  void* memory = nullptr;
  check(cudaHostAlloc(
      &memory,
      sizeof(DeviceError),
      cudaHostAllocPortable | cudaHostAllocMapped));
  auto* made = static_cast<DeviceError*>(memory);
  made->word = 0;
  DeviceError* slot = nullptr;
  if (slot_.compare_exchange_strong(slot, made)) {
    return made;
  }
  ignore(cudaFreeHost(memory)); // another thread was first
  return slot;
}

DeviceError* error_slot(int index) {
  return device(index).error_slot();
}

void Device::keep_error(musaError_t code, const char* what, const char* task) {
  {
    const Lock lock(error_mutex_);
    const bool sticky_now = is_sticky(code) && sticky() == musaSuccess;
    if (has_error_.load(std::memory_order_relaxed) && !sticky_now) {
      return; // only the first is kept
    }
    print(index_, task, code, what);
    error_ = code;
    error_what_ = *task != '\0' ? std::string(task) + ": " + what : what;
    error_task_ = task;
    has_error_.store(true, std::memory_order_release);
    if (!sticky_now) {
      return;
    }
    sticky_.store(code, std::memory_order_release);
  }
  update_sticky_gate();
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
  keep_error(code, error_text(code), task);
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

void Device::forget_error() {
  {
    const Lock lock(error_mutex_);
    DeviceError* slot = slot_.load(std::memory_order_acquire);
    if (slot != nullptr) {
      __atomic_store_n(&slot->word, 0ULL, __ATOMIC_RELEASE);
    }
    has_error_.store(false);
    sticky_.store(musaSuccess);
    error_ = musaSuccess;
    error_what_.clear();
    error_task_ = "";
  }
  update_sticky_gate();
}

// --- settings ---

void Device::set_flags(unsigned flags) {
  const Lock lock(settings_mutex_);
  use_device(index_);
  check(cudaSetDeviceFlags(to_cuda(kDeviceFlags, flags)));
  flags_ = flags;
}

unsigned Device::flags() {
  const Lock lock(settings_mutex_);
  return flags_ | static_cast<unsigned>(musaDeviceMapHost);
}

size_t Device::limit(musaLimit limit) const {
  use_device(index_);
  size_t value = 0;
  check(cudaDeviceGetLimit(&value, to_cuda(limit)));
  return value;
}

void Device::set_limit(musaLimit which, size_t value) {
  const size_t before = limit(which);
  const Lock lock(settings_mutex_);
  check(cudaDeviceSetLimit(to_cuda(which), value));
  default_limits_.emplace(which, before);
}

// Others in the process may have enabled it for themselves.
void Device::enable_peer(int peer) {
  const Lock lock(settings_mutex_);
  const uint64_t bit = uint64_t{1} << peer;
  if ((peers_ & bit) != 0) {
    throw Error(
        musaErrorPeerAccessAlreadyEnabled,
        "peer access is enabled already");
  }
  use_device(index_);
  const cudaError_t result = cudaDeviceEnablePeerAccess(g_ordinals[peer], 0);
  if (result == cudaErrorPeerAccessAlreadyEnabled) {
    (void)cudaGetLastError();
  } else {
    check(result);
  }
  peers_ |= bit;
  open_pools_to(peer, index_, true);
}

void Device::disable_peer(int peer) {
  const Lock lock(settings_mutex_);
  const uint64_t bit = uint64_t{1} << peer;
  if ((peers_ & bit) == 0) {
    throw Error(musaErrorPeerAccessNotEnabled, "peer access is not enabled");
  }
  open_pools_to(peer, index_, false);
  use_device(index_);
  check(cudaDeviceDisablePeerAccess(g_ordinals[peer]));
  peers_ &= ~bit;
}

// What is new with a context needs nothing.
void Device::restore_settings(bool context_is_gone) {
  const Lock lock(settings_mutex_);
  if (!context_is_gone) {
    for (const auto& limit : default_limits_) {
      ignore(cudaDeviceSetLimit(to_cuda(limit.first), limit.second));
    }
    for (int peer = 0; peer < kMaxDevices; ++peer) {
      if (((peers_ >> peer) & 1U) != 0) {
        ignore(cudaDeviceDisablePeerAccess(g_ordinals[peer]));
      }
    }
    ignore(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
  }
  default_limits_.clear();
  peers_ = 0;
  flags_ = 0;
}

// --- reset ---

// A sound context stays: the libraries' handles and whatever else the process
// has in it are not this engine's to end.
void Device::reset() {
  const Flag resetting(resetting_);
  const bool broken = end_work();
  if (broken) {
    wait_for_host_functions(*this); // they would write what CUDA takes away
  }
  drop_streams(index_, broken);
  drop_events(index_, broken);
  drop_blocks(index_, broken);
  drop_pools(index_, broken);
  if (broken) {
    slot_.store(nullptr, std::memory_order_release);
    {
      const Lock lock(host_mutex_);
      host_words_.close();
    }
    const cudaError_t result = cudaDeviceReset();
    (void)cudaGetLastError();
    check(result, index_);
    generation_.fetch_add(1, std::memory_order_release);
    make_context();
  }
  restore_settings(broken);
  forget_error();
}

} // namespace musa_standin::engine::cuda
