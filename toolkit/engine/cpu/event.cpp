// SPDX-License-Identifier: Apache-2.0
// Events: record, and what a record stands for.
#include "toolkit/engine/cpu/event.h"

#include "toolkit/engine/cpu/capture.h"
#include "toolkit/engine/fault.h"

#include <chrono>
#include <utility>

namespace musa_standin::engine::cpu {
namespace {

using Lock = std::lock_guard<SpinLock>;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct WriteTime {
  TimeCell* time;
  void operator()() const {
    time->nanoseconds.store(now(), std::memory_order_release);
    release(time);
  }
};

// The planted fault: the last wait follows the event's new record.
void move_wait_to(const Mark& mark) {
  auto* waiter = static_cast<Stream*>(kept_for_fault());
  if (waiter != nullptr) {
    waiter->wait_for(mark);
  }
}

} // namespace

EventTable& event_table() {
  static auto* const table = new EventTable;
  return *table;
}

void release(TimeCell* time) {
  if (time != nullptr && time->owners.fetch_sub(1) == 1) {
    delete time;
  }
}

void destroy_events(int device) {
  event_table().for_each([device](Event& event) {
    if (event.alive() && event.device() == device) {
      event.close();
      event_table().give_back(event);
    }
  });
}

void Event::open(int device, unsigned flags) {
  device_ = device;
  flags_ = flags;
  alive_.store(true, std::memory_order_release);
}

void Event::close() {
  alive_.store(false, std::memory_order_release);
  replace({}, nullptr);
}

void Event::replace(
    const Mark& mark,
    TimeCell* time,
    std::shared_ptr<const CapturedRecord> captured) {
  TimeCell* before = nullptr;
  {
    const Lock lock(lock_);
    before = time_;
    mark_ = mark;
    time_ = time;
    captured_.swap(captured);
    in_capture_.store(captured_ != nullptr, std::memory_order_relaxed);
  }
  release(before);
}

void Event::record(Stream& stream) {
  Mark mark = stream.mark();
  if (planted("rerecord_moves_wait")) {
    move_wait_to(mark);
  }
  if ((flags_ & musaEventDisableTiming) != 0) {
    replace(mark, nullptr);
    return;
  }
  auto* time = new TimeCell;
  if (reached(mark)) {
    time->nanoseconds.store(now(), std::memory_order_relaxed);
  } else {
    time->owners.store(2, std::memory_order_relaxed);
    mark.task = stream.enqueue("event record", WriteTime{time});
  }
  replace(mark, time);
}

std::shared_ptr<const CapturedRecord> Event::captured() {
  const Lock lock(lock_);
  return captured_;
}

void Event::set_captured(std::shared_ptr<const CapturedRecord> record) {
  replace({}, nullptr, std::move(record));
}

bool Event::recorded() {
  const Lock lock(lock_);
  return mark_.stream != nullptr;
}

void Event::refuse_captured() {
  if (__builtin_expect(in_capture(), 0)) {
    const std::shared_ptr<const CapturedRecord> record = captured();
    if (record != nullptr) {
      refuse_captured_event(*record);
    }
  }
}

Mark Event::mark() {
  refuse_captured();
  const Lock lock(lock_);
  return mark_;
}

Mark Event::mark(TimeCell*& time) {
  refuse_captured();
  const Lock lock(lock_);
  time = time_;
  if (time != nullptr) {
    time->owners.fetch_add(1);
  }
  return mark_;
}

} // namespace musa_standin::engine::cpu
