// SPDX-License-Identifier: Apache-2.0
// A stream: a handle of ours in front of one of CUDA's.
#pragma once

#include "toolkit/engine/cuda/check.h"
#include "toolkit/engine/handle_table.h"
#include "toolkit/engine/runtime.h"

#include <atomic>
#include <mutex>

namespace musa_standin::engine::cuda {

class Stream final : public engine::Stream {
 public:
  void open(int device, unsigned flags, int priority, cudaStream_t native) {
    device_ = device;
    flags_ = flags;
    priority_ = priority;
    native_ = native;
    alive_.store(true, std::memory_order_release);
  }

  // CUDA's own handle. The default streams' are those of the thread's current
  // device: call the free function instead where work is enqueued.
  [[nodiscard]] cudaStream_t native() const noexcept { return native_; }

  // Held from a host function's launch until its wait stands behind it.
  [[nodiscard]] std::mutex& host_function_mutex() { return host_mutex_; }

  [[nodiscard]] bool alive() const noexcept {
    return alive_.load(std::memory_order_acquire);
  }
  // True for one caller.
  bool kill() noexcept { return alive_.exchange(false); }
  // The device's legacy and per-thread streams are never destroyed.
  [[nodiscard]] bool is_default() const noexcept {
    return native_ == cudaStreamLegacy || native_ == cudaStreamPerThread;
  }

 private:
  cudaStream_t native_ = nullptr;
  std::atomic<bool> alive_{false};
  std::mutex host_mutex_;
};

using StreamTable = HandleTable<Stream, size_t{1} << 16>;
StreamTable& stream_table();

Stream& create_stream(int device, unsigned flags, int priority);
// Its work goes on; the handle is dead at once.
void destroy_stream(musaStream_t handle);
// All of a device that is reset, but for its default streams.
void drop_streams(int device, bool context_is_gone);

// CUDA's handle, after the stream's device was made the thread's.
inline cudaStream_t native(engine::Stream& stream) {
  use_device(stream.device());
  return static_cast<Stream&>(stream).native();
}

} // namespace musa_standin::engine::cuda
