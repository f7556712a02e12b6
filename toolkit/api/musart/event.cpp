// SPDX-License-Identifier: Apache-2.0
// Events.
#include "toolkit/api/call.h"

#include "toolkit/include/musa_runtime_api.h"

using namespace musa_standin::api;
namespace engine = musa_standin::engine;
using engine::runtime;

namespace {

void create(musaEvent_t* event, unsigned flags) {
  constexpr unsigned kFlags =
      musaEventBlockingSync | musaEventDisableTiming | musaEventInterprocess;
  require(event != nullptr, "event is null");
  require((flags & ~kFlags) == 0, "a flag does not exist");
  require(
      (flags & musaEventInterprocess) == 0 ||
          (flags & musaEventDisableTiming) != 0,
      "an event for several processes has no timing");
  *event = &runtime().create_event(current_device(), flags);
}

void record(musaEvent_t event, musaStream_t stream) {
  engine::Event& recorded = runtime().resolve_event(event);
  runtime().record_event(recorded, stream_of(stream));
}

} // namespace

musaError_t musaEventCreate(musaEvent_t* event) {
  return api_call("musaEventCreate", [&] { create(event, musaEventDefault); });
}

musaError_t musaEventCreateWithFlags(musaEvent_t* event, unsigned int flags) {
  return api_call("musaEventCreateWithFlags", [&] { create(event, flags); });
}

musaError_t musaEventRecord(musaEvent_t event, musaStream_t stream) {
  return api_call("musaEventRecord", [&] { record(event, stream); });
}

musaError_t musaEventRecordWithFlags(
    musaEvent_t event,
    musaStream_t stream,
    unsigned int flags) {
  return api_call("musaEventRecordWithFlags", [&] {
    require(
        flags == musaEventRecordDefault,
        "flags must be musaEventRecordDefault outside of a capture");
    record(event, stream);
  });
}

musaError_t musaEventSynchronize(musaEvent_t event) {
  return api_call("musaEventSynchronize", [&] {
    runtime().synchronize_event(runtime().resolve_event(event));
  });
}

musaError_t musaEventQuery(musaEvent_t event) {
  return api_call("musaEventQuery", [&] {
    return runtime().query_event(runtime().resolve_event(event))
        ? musaSuccess
        : musaErrorNotReady;
  });
}

musaError_t musaEventDestroy(musaEvent_t event) {
  return api_call("musaEventDestroy", [&] { runtime().destroy_event(event); });
}

musaError_t
musaEventElapsedTime(float* ms, musaEvent_t start, musaEvent_t end) {
  return api_call("musaEventElapsedTime", [&] {
    require(ms != nullptr, "ms is null");
    engine::Event& first = runtime().resolve_event(start);
    *ms = runtime().elapsed_ms(first, runtime().resolve_event(end));
  });
}
