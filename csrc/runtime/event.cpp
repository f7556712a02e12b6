// SPDX-License-Identifier: Apache-2.0
// Pools of events and what can be done with one.
#include "csrc/runtime/event.h"

#include "csrc/runtime/device_table.h"
#include "csrc/runtime/fork.h"

#include <array>
#include <memory>
#include <mutex>
#include <vector>

namespace torch_fl::runtime {
namespace {

// By timing. Never destroyed: events come back as late as the exit.
struct EventPool {
  std::mutex mutex;
  std::array<std::vector<PooledEvent*>, 2> free;
};

EventPool& pool_of(c10::DeviceIndex device) {
  static auto* const pools = new std::array<EventPool, kMaxDevices>();
  return (*pools)[table_place(device)];
}

} // namespace

PooledEvent* take_event(c10::DeviceIndex device, bool timing) {
  const c10::DeviceIndex index = checked_index(device);
  EventPool& pool = pool_of(index);
  {
    const std::lock_guard<std::mutex> lock(pool.mutex);
    std::vector<PooledEvent*>& free = pool.free[timing ? 1 : 0];
    if (!free.empty()) {
      PooledEvent* event = free.back();
      free.pop_back();
      return event;
    }
  }
  auto event = std::make_unique<PooledEvent>();
  event->device = index;
  event->timing = timing;
  const DeviceScope scope(index);
  FL_MUSA_CHECK(musaEventCreateWithFlags(
      &event->handle,
      timing ? musaEventDefault : musaEventDisableTiming));
  mark_used(index);
  return event.release();
}

void give_event(PooledEvent* event) noexcept {
  if (event == nullptr || is_in_bad_fork()) {
    return;
  }
  EventPool& pool = pool_of(event->device);
  const std::lock_guard<std::mutex> lock(pool.mutex);
  pool.free[event->timing ? 1 : 0].push_back(event);
}

void record_event(const PooledEvent& event, const Stream& stream) {
  TORCH_CHECK_VALUE(
      event.device == stream.device(),
      "an event of flagos:",
      static_cast<int>(event.device),
      " cannot be recorded on a stream of flagos:",
      static_cast<int>(stream.device()),
      ".");
  const DeviceScope scope(stream.device());
  FL_MUSA_CHECK(musaEventRecord(event.handle, stream.handle()));
}

void wait_event(const Stream& stream, const PooledEvent& event) {
  const DeviceScope scope(stream.device());
  FL_MUSA_CHECK(musaStreamWaitEvent(stream.handle(), event.handle, 0));
}

bool query_event(const PooledEvent& event) {
  const musaError_t code = musaEventQuery(event.handle);
  if (code == musaErrorNotReady) {
    static_cast<void>(musaGetLastError());
    return false;
  }
  if (C10_UNLIKELY(code != musaSuccess)) {
    raise(code, "musaEventQuery", __FILE__, __LINE__);
  }
  return true;
}

void synchronize_event(const PooledEvent& event) {
  FL_MUSA_CHECK(musaEventSynchronize(event.handle));
}

double elapsed_ms(const PooledEvent& start, const PooledEvent& end) {
  TORCH_CHECK_VALUE(
      start.timing && end.timing,
      "elapsed time needs two events made with enable_timing=True.");
  TORCH_CHECK(
      query_event(start) && query_event(end),
      "elapsed time needs two events whose work is done: synchronize first.");
  const DeviceScope scope(start.device);
  float milliseconds = 0;
  FL_MUSA_CHECK(musaEventElapsedTime(&milliseconds, start.handle, end.handle));
  return static_cast<double>(milliseconds);
}

} // namespace torch_fl::runtime
