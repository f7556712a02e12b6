// SPDX-License-Identifier: Apache-2.0
// Events: recycled per device, owned by scope.
#pragma once

#include "csrc/runtime/stream.h"

#include <memory>

namespace torch_fl::runtime {

// One recycled event of a device. The device guard hands out pointers to these
// as its void*.
struct PooledEvent {
  musaEvent_t handle = nullptr;
  c10::DeviceIndex device = 0;
  bool timing = false;
};

// Takes an event of a device from its pool, or makes one.
FL_API PooledEvent* take_event(c10::DeviceIndex device, bool timing);
// Gives it back, recorded or not: pending waits keep what they captured.
FL_API void give_event(PooledEvent* event) noexcept;

// Throws if the event is of another device than the stream.
FL_API void record_event(const PooledEvent& event, const Stream& stream);
// Later work of the stream, of any device, waits for the event's record.
FL_API void wait_event(const Stream& stream, const PooledEvent& event);
FL_API bool query_event(const PooledEvent& event);
FL_API void synchronize_event(const PooledEvent& event);
// Milliseconds between two completed events with timing.
FL_API double elapsed_ms(const PooledEvent& start, const PooledEvent& end);

// An event recorded at construction; given back at the end.
class Event {
 public:
  explicit Event(const Stream& stream)
      : event_(take_event(stream.device(), false)) {
    record_event(*event_, stream);
  }

  [[nodiscard]] bool query() const { return query_event(*event_); }
  void synchronize() const { synchronize_event(*event_); }
  void block(const Stream& stream) const { wait_event(stream, *event_); }

 private:
  struct GiveBack {
    void operator()(PooledEvent* event) const noexcept { give_event(event); }
  };
  std::unique_ptr<PooledEvent, GiveBack> event_;
};

} // namespace torch_fl::runtime
