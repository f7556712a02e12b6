// SPDX-License-Identifier: Apache-2.0
// Streams: views of pooled streams, and the current stream of each thread.
#pragma once

#include "csrc/runtime/device.h"

#include <c10/core/Stream.h>

namespace torch_fl::runtime {

// How many streams of each priority a device's pool holds, and how many
// priorities are used at most.
constexpr int kStreamsPerPool = 32;
constexpr int kMaxPriorities = 4;

// A cheap copyable view; never owns its stream. Id 0 is a device's default
// stream (the null stream). Pool streams live for the whole process; external
// ones belong to whoever made them.
class Stream {
 public:
  // Throws if the stream is of another device type or its id means nothing.
  FL_API explicit Stream(c10::Stream stream);

  [[nodiscard]] musaStream_t handle() const noexcept { return handle_; }
  [[nodiscard]] c10::StreamId id() const noexcept { return id_; }
  [[nodiscard]] c10::DeviceIndex device() const noexcept { return device_; }
  [[nodiscard]] c10::Stream unwrap() const {
    return c10::Stream(
        c10::Stream::UNSAFE,
        c10::Device(c10::DeviceType::PrivateUse1, device_),
        id_);
  }

  // 0 is the lowest priority; higher ones are negative.
  [[nodiscard]] FL_API int priority() const;
  // True once everything submitted so far is done; throws a stream's error.
  [[nodiscard]] FL_API bool query() const;
  // Blocks until then; throws a stream's error.
  FL_API void synchronize() const;

  friend bool operator==(const Stream& a, const Stream& b) noexcept {
    return a.device_ == b.device_ && a.id_ == b.id_;
  }
  friend bool operator!=(const Stream& a, const Stream& b) noexcept {
    return !(a == b);
  }

 private:
  friend Stream current_stream();
  friend FL_API Stream current_stream(c10::DeviceIndex);
  Stream(musaStream_t handle, c10::StreamId id, c10::DeviceIndex device)
      : handle_(handle), id_(id), device_(device) {}

  musaStream_t handle_;
  c10::StreamId id_;
  c10::DeviceIndex device_;
};

// The current stream of the calling thread's current device.
inline Stream current_stream() {
  const ThreadState& state = thread_state;
  return {state.stream, state.stream_id, state.device};
}
// Of another device; -1 is the current one.
FL_API Stream current_stream(c10::DeviceIndex device);
FL_API Stream default_stream(c10::DeviceIndex device);

// Makes a stream current on its device for the calling thread; the current
// device stays.
FL_API void set_current_stream(Stream stream);

// The next stream of a device's pool, round robin; priority 0 or below.
FL_API Stream pool_stream(c10::DeviceIndex device, int priority = 0);
// A stream made elsewhere; the caller keeps it alive while it is used.
FL_API Stream external_stream(musaStream_t handle, c10::DeviceIndex device);

// {least, greatest} priority, such as {0, -3}.
FL_API std::pair<int, int> priority_range();

} // namespace torch_fl::runtime
