// SPDX-License-Identifier: Apache-2.0
// Events: a mark in a stream, and for timing the time when it was reached.
#pragma once

#include "toolkit/engine/cpu/spin_lock.h"
#include "toolkit/engine/cpu/stream.h"
#include "toolkit/engine/handle_table.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace musa_standin::engine::cpu {

struct CapturedRecord;

// Shared by an event and the task that writes the time.
struct TimeCell {
  std::atomic<int64_t> nanoseconds{0};
  std::atomic<int> owners{1};
};

class Event final : public engine::Event {
 public:
  void open(int device, unsigned flags);
  void close();

  // A wait that holds an earlier record keeps that one.
  void record(Stream& stream);
  // The current record; an empty mark before the first one.  Throws if that
  // record is part of a capture.
  Mark mark();
  // As mark(), with a share of the time cell; null without timing.
  Mark mark(TimeCell*& time);

  // The current record, if it is part of a capture; else null.
  [[nodiscard]] bool in_capture() const noexcept {
    return in_capture_.load(std::memory_order_relaxed);
  }
  std::shared_ptr<const CapturedRecord> captured();
  void set_captured(std::shared_ptr<const CapturedRecord> record);
  // Outside of captures.
  bool recorded();

  [[nodiscard]] bool alive() const noexcept {
    return alive_.load(std::memory_order_acquire);
  }

 private:
  void replace(
      const Mark& mark,
      TimeCell* time,
      std::shared_ptr<const CapturedRecord> captured = nullptr);
  void refuse_captured();

  std::atomic<bool> alive_{false};
  std::atomic<bool> in_capture_{false};
  SpinLock lock_;
  Mark mark_;
  TimeCell* time_ = nullptr;
  std::shared_ptr<const CapturedRecord> captured_;
};

using EventTable = HandleTable<Event, size_t{1} << 20>;
EventTable& event_table();

void release(TimeCell* time);

// All events of a device, when it is reset.
void destroy_events(int device);

inline bool reached(const Mark& mark) {
  return mark.stream == nullptr || mark.stream->finished() >= mark.task;
}

} // namespace musa_standin::engine::cpu
