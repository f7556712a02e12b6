// SPDX-License-Identifier: Apache-2.0
// Events: recycled per device, owned by scope.
#pragma once

#include "csrc/runtime/stream.h"

#include <cstdint>

namespace torch_fl::runtime {

// Raw recycled events, for the device guard, whose interface hands out void*.
// `timing` must be the same for taking and giving back.
FL_API musaEvent_t take_event(c10::DeviceIndex device, bool timing);
FL_API void give_event(
    musaEvent_t event,
    c10::DeviceIndex device,
    bool timing) noexcept;

FL_API void record_event(musaEvent_t event, const Stream& stream);
// Later work of the stream waits for the event's current record.
FL_API void wait_event(const Stream& stream, musaEvent_t event);
// A null event is done.
FL_API bool query_event(musaEvent_t event);
FL_API void synchronize_event(musaEvent_t event);

// An event recorded at construction; given back at the end.
class Event {
 public:
  explicit Event(const Stream& stream)
      : event_(take_event(stream.device(), false)), device_(stream.device()) {
    try {
      record_event(event_, stream);
    } catch (...) {
      give_event(event_, device_, false);
      throw;
    }
  }
  Event(Event&& other) noexcept
      : event_(other.event_), device_(other.device_) {
    other.event_ = nullptr;
  }
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    std::swap(device_, other.device_);
    return *this;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() {
    if (event_ != nullptr) {
      give_event(event_, device_, false);
    }
  }

  [[nodiscard]] musaEvent_t handle() const noexcept {
    return event_;
  }
  [[nodiscard]] bool query() const {
    return query_event(event_);
  }
  void synchronize() const {
    synchronize_event(event_);
  }
  void block(const Stream& stream) const {
    wait_event(stream, event_);
  }

 private:
  musaEvent_t event_;
  c10::DeviceIndex device_;
};

} // namespace torch_fl::runtime
