// SPDX-License-Identifier: Apache-2.0
// Events: handles of ours in front of CUDA's.
#pragma once

#include "toolkit/engine/handle_table.h"
#include "toolkit/engine/runtime.h"

#include <cuda_runtime_api.h>

#include <atomic>

namespace musa_standin::engine::cuda {

class Event final : public engine::Event {
 public:
  void open(int device, unsigned flags, cudaEvent_t native) {
    device_ = device;
    flags_ = flags;
    native_ = native;
    alive_.store(true, std::memory_order_release);
  }
  [[nodiscard]] cudaEvent_t native() const noexcept { return native_; }
  [[nodiscard]] bool alive() const noexcept {
    return alive_.load(std::memory_order_acquire);
  }
  // True for one caller.
  bool kill() noexcept { return alive_.exchange(false); }

 private:
  cudaEvent_t native_ = nullptr;
  std::atomic<bool> alive_{false};
};

Event& create_event(int device, unsigned flags);
// Throws InvalidResourceHandle for a handle that is none, or was destroyed.
Event& resolve_event(musaEvent_t handle);
void destroy_event(musaEvent_t handle);
// All of a device that is reset.
void drop_events(int device, bool context_is_gone);

} // namespace musa_standin::engine::cuda
