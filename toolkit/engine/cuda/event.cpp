// SPDX-License-Identifier: Apache-2.0
// The events behind handles.
#include "toolkit/engine/cuda/event.h"

#include "toolkit/engine/cuda/check.h"
#include "toolkit/engine/cuda/flag_map.h"

namespace musa_standin::engine::cuda {
namespace {

using EventTable = HandleTable<Event, size_t{1} << 20>;

EventTable& event_table() {
  static auto* const table = new EventTable;
  return *table;
}

} // namespace

Event& create_event(int device, unsigned flags) {
  use_device(device);
  cudaEvent_t native = nullptr;
  check(cudaEventCreateWithFlags(&native, to_cuda(kEventFlags, flags)));
  try {
    Event& event = event_table().take();
    event.open(device, flags, native);
    return event;
  } catch (const Error&) {
    ignore(cudaEventDestroy(native));
    throw;
  }
}

Event& resolve_event(musaEvent_t handle) {
  Event* event = event_table().find(handle);
  if (event == nullptr || !event->alive()) {
    throw Error(
        musaErrorInvalidResourceHandle,
        "the event handle is none, or its event was destroyed");
  }
  return *event;
}

void destroy_event(musaEvent_t handle) {
  Event& event = resolve_event(handle);
  if (!event.kill()) {
    throw Error(
        musaErrorInvalidResourceHandle,
        "another thread destroyed the event");
  }
  const int device = event.device();
  const cudaEvent_t native = event.native();
  event_table().give_back(event);
  check(cudaEventDestroy(native), device);
}

void drop_events(int device, bool context_is_gone) {
  event_table().for_each([&](Event& event) {
    if (event.device() == device && event.kill()) {
      const cudaEvent_t native = event.native();
      event_table().give_back(event);
      if (!context_is_gone) {
        ignore(cudaEventDestroy(native));
      }
    }
  });
}

} // namespace musa_standin::engine::cuda
