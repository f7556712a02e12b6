// SPDX-License-Identifier: Apache-2.0
// Streams and host functions.
#include "toolkit/api/call.h"

#include "toolkit/include/musa_runtime_api.h"

#include <algorithm>

using namespace musa_standin::api;
namespace engine = musa_standin::engine;
using engine::runtime;

namespace {

void create(musaStream_t* stream, unsigned flags, int priority) {
  require(stream != nullptr, "pStream is null");
  require(
      flags == musaStreamDefault || flags == musaStreamNonBlocking,
      "flags is neither musaStreamDefault nor musaStreamNonBlocking");
  int least = 0;
  int greatest = 0;
  runtime().priority_range(least, greatest);
  *stream = &runtime().create_stream(
      current_device(),
      flags,
      std::clamp(priority, greatest, least));
}

} // namespace

musaError_t musaStreamCreate(musaStream_t* pStream) {
  return api_call("musaStreamCreate", [&] {
    create(pStream, musaStreamDefault, 0);
  });
}

musaError_t musaStreamCreateWithFlags(
    musaStream_t* pStream,
    unsigned int flags) {
  return api_call("musaStreamCreateWithFlags", [&] {
    create(pStream, flags, 0);
  });
}

musaError_t musaStreamCreateWithPriority(
    musaStream_t* pStream,
    unsigned int flags,
    int priority) {
  return api_call("musaStreamCreateWithPriority", [&] {
    create(pStream, flags, priority);
  });
}

musaError_t musaStreamGetPriority(musaStream_t stream, int* priority) {
  return api_call("musaStreamGetPriority", [&] {
    require(priority != nullptr, "priority is null");
    *priority = stream_of(stream).priority();
  });
}

musaError_t musaStreamGetFlags(musaStream_t stream, unsigned int* flags) {
  return api_call("musaStreamGetFlags", [&] {
    require(flags != nullptr, "flags is null");
    *flags = stream_of(stream).flags();
  });
}

musaError_t musaStreamDestroy(musaStream_t stream) {
  return api_call("musaStreamDestroy", [&] {
    runtime().destroy_stream(stream);
  });
}

musaError_t musaStreamSynchronize(musaStream_t stream) {
  return api_call("musaStreamSynchronize", [&] {
    runtime().synchronize_stream(stream_of(stream));
  });
}

musaError_t musaStreamQuery(musaStream_t stream) {
  return api_call("musaStreamQuery", [&] {
    return runtime().query_stream(stream_of(stream)) ? musaSuccess
                                                     : musaErrorNotReady;
  });
}

musaError_t musaStreamWaitEvent(
    musaStream_t stream,
    musaEvent_t event,
    unsigned int flags) {
  return api_call("musaStreamWaitEvent", [&] {
    require(
        flags == musaEventWaitDefault,
        "flags must be musaEventWaitDefault");
    engine::Event& waited = runtime().resolve_event(event);
    runtime().wait_event(stream_of(stream), waited);
  });
}

musaError_t musaStreamAddCallback(
    musaStream_t stream,
    musaStreamCallback_t callback,
    void* userData,
    unsigned int flags) {
  return api_call("musaStreamAddCallback", [&] {
    require(callback != nullptr, "callback is null");
    require(flags == 0, "flags must be 0");
    runtime().add_callback(stream_of(stream), stream, callback, userData);
  });
}

musaError_t
musaLaunchHostFunc(musaStream_t stream, musaHostFn_t fn, void* userData) {
  return api_call("musaLaunchHostFunc", [&] {
    require(fn != nullptr, "fn is null");
    runtime().launch_host_function(stream_of(stream), fn, userData);
  });
}
