// SPDX-License-Identifier: Apache-2.0
// The first touch of CUDA, a forked child, and the end.
#include "toolkit/engine/cuda/start.h"

#include "toolkit/engine/cuda/check.h"
#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/host_function.h"
#include "toolkit/engine/thread_state.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace musa_standin::engine::cuda {

int g_ordinals[kMaxDevices];

namespace {

constexpr std::chrono::milliseconds kLeave(1);
// Some never return; the process ends all the same.
constexpr std::chrono::milliseconds kHostFunctions(200);
constexpr int kNotCounted = -1;
std::atomic<int> g_count{kNotCounted};
std::mutex g_mutex;

// The mask's devices in its order, up to the first that is none.
int visible_devices(const char* mask, int devices) {
  bool seen[kMaxDevices] = {};
  int count = 0;
  while (*mask != '\0') {
    char* end = nullptr;
    const long index = std::strtol(mask, &end, 10);
    if (end == mask || index < 0 || index >= devices || seen[index]) {
      break;
    }
    seen[index] = true;
    g_ordinals[count++] = static_cast<int>(index);
    if (*end != ',') {
      break;
    }
    mask = end + 1;
  }
  return count;
}

int native_count() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaErrorInsufficientDriver || result == cudaErrorStubLibrary) {
    (void)cudaGetLastError();
    std::fprintf(
        stderr,
        "musa: there is no device, since the CUDA engine found no driver "
        "(libcuda.so.1) that is new enough for CUDA %d.%d.\n",
        CUDART_VERSION / 1000,
        CUDART_VERSION % 1000 / 10);
    return 0;
  }
  if (result == cudaErrorNoDevice) {
    (void)cudaGetLastError();
    return 0;
  }
  check(result);
  return std::min(count, kMaxDevices);
}

// CUDA cannot be used in a child once the parent has asked it anything.
void watch_fork() {
  pthread_atfork(nullptr, nullptr, [] { g_gate.fetch_or(kGateForked); });
}

int count_devices() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): set but empty hides all devices
  const char* mask = std::getenv("MUSA_VISIBLE_DEVICES");
  if (mask != nullptr && *mask == '\0') {
    return 0;
  }
  static bool watched = false;
  if (!watched) {
    watched = true;
    watch_fork();
  }
  const int count = native_count();
  // After CUDA's own handler: ours runs before it.
  std::atexit([] { stop_engine(); });
  if (mask != nullptr) {
    return visible_devices(mask, count);
  }
  for (int i = 0; i < count; ++i) {
    g_ordinals[i] = i;
  }
  return count;
}

} // namespace

int device_count() {
  const int known = g_count.load(std::memory_order_acquire);
  if (__builtin_expect(known != kNotCounted, 1)) {
    return known;
  }
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_count.load(std::memory_order_relaxed) == kNotCounted) {
    g_count.store(count_devices(), std::memory_order_release);
  }
  return g_count.load(std::memory_order_relaxed);
}

void stop_engine() noexcept {
  const uint32_t before = g_gate.fetch_or(kGateStopped);
  if ((before & (kGateForked | kGateStopped)) != 0 ||
      g_count.load(std::memory_order_acquire) <= 0) {
    return;
  }
  const Deadline deadline = std::chrono::steady_clock::now() + kHostFunctions;
  for (int i = 0; i < g_count.load(); ++i) {
    const Device* at = device_if_started(i);
    if (at != nullptr) {
      wait_for_host_functions(*at, deadline);
    }
  }
  // Calls that other threads began before the gate closed leave CUDA before
  // its own handlers take it apart.
  std::this_thread::sleep_for(kLeave);
}

} // namespace musa_standin::engine::cuda
