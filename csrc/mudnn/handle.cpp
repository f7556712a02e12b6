// SPDX-License-Identifier: Apache-2.0
// Handles: one per thread and device, handed on when a thread ends.
#include "csrc/mudnn/handle.h"

#include "csrc/mudnn/status.h"
#include "csrc/runtime/device.h"

#include <ATen/Context.h>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

namespace torch_fl::mudnn {

namespace {

struct Owned {
  ::musa::dnn::Handle* handle = nullptr;
  bool tf32 = false;
};

// Handles of threads that ended. Leaked on purpose: a handle that outlives the
// runtime crashes at exit (facts/mudnn-api.md quirk 11).
struct Pool {
  std::mutex mutex;
  std::array<std::vector<Owned>, runtime::kMaxDevices> free;
};

Pool& pool() {
  static auto* const instance = new Pool;
  return *instance;
}

struct ThreadHandles {
  ThreadHandles() = default;
  ThreadHandles(const ThreadHandles&) = delete;
  ThreadHandles& operator=(const ThreadHandles&) = delete;
  ~ThreadHandles() {
    handle_slot = HandleSlot{};
    Pool& shared = pool();
    const std::lock_guard<std::mutex> lock(shared.mutex);
    for (size_t device = 0; device < owned.size(); ++device) {
      if (owned[device].handle != nullptr) {
        shared.free[device].push_back(owned[device]);
      }
    }
  }

  std::array<Owned, runtime::kMaxDevices> owned;
};

// Behind a pointer: the library's thread-locals are initial-exec, and the
// loader has few bytes for those.
ThreadHandles& thread_handles() {
  thread_local std::unique_ptr<ThreadHandles> mine;
  if (mine == nullptr) {
    mine = std::make_unique<ThreadHandles>();
  }
  return *mine;
}

Owned take(c10::DeviceIndex device) {
  Pool& shared = pool();
  {
    const std::lock_guard<std::mutex> lock(shared.mutex);
    auto& free = shared.free[static_cast<size_t>(device)];
    if (!free.empty()) {
      const Owned found = free.back();
      free.pop_back();
      return found;
    }
  }
  Owned made{new ::musa::dnn::Handle(device), false};
  // A new handle has TF32 enabled (quirk 6).
  FL_MUDNN_CHECK(made.handle->SetAllowTF32(false));
  return made;
}

} // namespace

FL_CONSTINIT_THREAD_LOCAL HandleSlot handle_slot
    __attribute__((tls_model("initial-exec")));

::musa::dnn::Handle& bind_handle() {
  runtime::require_device();
  const runtime::ThreadState& now = runtime::thread_state;
  runtime::set_device(now.device);
  Owned& own = thread_handles().owned[static_cast<size_t>(now.device)];
  if (own.handle == nullptr) {
    own = take(now.device);
  }
  FL_MUDNN_CHECK(own.handle->SetStream(now.stream));
  handle_slot = HandleSlot{own.handle, now.stream, now.device, own.tf32};
  return *own.handle;
}

// The newer of torch's two flags: setting either one sets it, and it costs one
// look-up; asking for the older one raises where only the newer was set.
::musa::dnn::Handle& handle() {
  ::musa::dnn::Handle& current = plain_handle();
  const bool wanted = at::globalContext().float32Precision(
                          at::Float32Backend::CUDA,
                          at::Float32Op::MATMUL) == at::Float32Precision::TF32;
  if (C10_UNLIKELY(handle_slot.tf32 != wanted)) {
    const auto device = static_cast<size_t>(runtime::thread_state.device);
    FL_MUDNN_CHECK(current.SetAllowTF32(wanted));
    thread_handles().owned[device].tf32 = wanted;
    handle_slot.tf32 = wanted;
  }
  return current;
}

} // namespace torch_fl::mudnn
