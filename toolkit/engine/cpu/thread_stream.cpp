// SPDX-License-Identifier: Apache-2.0
// Each thread's own default stream, and the streams behind handles.
#include "toolkit/engine/cpu/device.h"

namespace musa_standin::engine::cpu {
namespace {

// The streams end with their thread; their tasks run to the end.
struct ThreadStreams {
  struct Entry {
    Stream* stream = nullptr;
    uint64_t generation = 0;

    // Resetting the device destroys the stream, and the slot may be another's.
    [[nodiscard]] bool valid() const {
      return stream != nullptr && stream->alive() &&
          stream->generation() == generation;
    }
  };
  Entry entries[kMaxDevices];

  ThreadStreams() = default;
  ThreadStreams(const ThreadStreams&) = delete;
  ThreadStreams& operator=(const ThreadStreams&) = delete;
  ~ThreadStreams() {
    if (g_gate.load() & (kGateForked | kGateStopped)) {
      return;
    }
    for (const Entry& entry : entries) {
      if (entry.valid()) {
        entry.stream->owner().destroy_stream(*entry.stream);
      }
    }
  }
};

} // namespace

Stream& thread_stream(int device) {
  thread_local ThreadStreams streams;
  ThreadStreams::Entry& entry = streams.entries[device];
  if (!entry.valid()) {
    entry.stream = &cpu::device(device).create_stream(musaStreamDefault, 0);
    entry.generation = entry.stream->generation();
  }
  return *entry.stream;
}

} // namespace musa_standin::engine::cpu

namespace musa_standin::engine {

Stream& resolve_stream(musaStream_t handle, int device) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value < 2) {
    return cpu::device(device).legacy();
  }
  if (value == 2) {
    return cpu::thread_stream(device);
  }
  cpu::Stream* stream = cpu::stream_table().find(handle);
  if (stream == nullptr || !stream->alive()) {
    throw Error(
        musaErrorInvalidResourceHandle,
        "the stream handle is none, or its stream was destroyed");
  }
  return *stream;
}

} // namespace musa_standin::engine
