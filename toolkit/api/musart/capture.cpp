// SPDX-License-Identifier: Apache-2.0
// Stream capture.
#include "toolkit/api/call.h"

#include "toolkit/include/musa_runtime_api.h"

using namespace musa_standin::api; // NOLINT(google-build-using-namespace)
namespace engine = musa_standin::engine;
using engine::runtime;

namespace {

void check_mode(musaStreamCaptureMode mode) {
  require(
      mode >= musaStreamCaptureModeGlobal &&
          mode <= musaStreamCaptureModeRelaxed,
      "there is no such capture mode");
}

engine::CaptureInfo info(
    musaStream_t stream,
    const musaStreamCaptureStatus* status) {
  require(status != nullptr, "the status' pointer is null");
  return runtime().capture_info(stream_of(stream));
}

template <class T>
void put(T* out, T value) {
  if (out != nullptr) {
    *out = value;
  }
}

} // namespace

musaError_t musaStreamBeginCapture(
    musaStream_t stream,
    musaStreamCaptureMode mode) {
  return api_call("musaStreamBeginCapture", [&] {
    check_mode(mode);
    runtime().begin_capture(stream_of(stream), mode);
  });
}

musaError_t musaStreamEndCapture(musaStream_t stream, musaGraph_t* pGraph) {
  return api_call("musaStreamEndCapture", [&] {
    require(pGraph != nullptr, "pGraph is null");
    *pGraph = nullptr;
    *pGraph = runtime().end_capture(stream_of(stream));
  });
}

musaError_t musaStreamIsCapturing(
    musaStream_t stream,
    musaStreamCaptureStatus* pCaptureStatus) {
  return api_call("musaStreamIsCapturing", [&] {
    *pCaptureStatus = info(stream, pCaptureStatus).status;
  });
}

musaError_t musaStreamGetCaptureInfo(
    musaStream_t stream,
    musaStreamCaptureStatus* captureStatus,
    unsigned long long* id) {
  return api_call("musaStreamGetCaptureInfo", [&] {
    const engine::CaptureInfo found = info(stream, captureStatus);
    *captureStatus = found.status;
    put(id, found.id);
  });
}

musaError_t musaStreamGetCaptureInfo_v2(
    musaStream_t stream,
    musaStreamCaptureStatus* captureStatus,
    unsigned long long* id,
    musaGraph_t* graph,
    const musaGraphNode_t** dependencies,
    size_t* numDependencies) {
  return api_call("musaStreamGetCaptureInfo_v2", [&] {
    const engine::CaptureInfo found = info(stream, captureStatus);
    *captureStatus = found.status;
    put(id, found.id);
    put(graph, found.graph);
    put(dependencies, found.dependencies);
    put(numDependencies, found.dependency_count);
  });
}

musaError_t musaThreadExchangeStreamCaptureMode(musaStreamCaptureMode* mode) {
  return api_call<Needs::kLifetime>("musaThreadExchangeStreamCaptureMode", [&] {
    require(mode != nullptr, "mode is null");
    check_mode(*mode);
    *mode = runtime().exchange_capture_mode(*mode);
  });
}
