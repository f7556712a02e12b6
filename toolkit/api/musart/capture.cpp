// SPDX-License-Identifier: Apache-2.0
// Questions about captures: no stream is ever captured.
#include "toolkit/api/call.h"

#include "toolkit/include/musa_runtime_api.h"

using namespace musa_standin::api; // NOLINT(google-build-using-namespace)

musaError_t musaStreamIsCapturing(
    musaStream_t stream,
    musaStreamCaptureStatus* pCaptureStatus) {
  return api_call("musaStreamIsCapturing", [&] {
    require(pCaptureStatus != nullptr, "pCaptureStatus is null");
    stream_of(stream);
    *pCaptureStatus = musaStreamCaptureStatusNone;
  });
}

musaError_t musaStreamGetCaptureInfo(
    musaStream_t stream,
    musaStreamCaptureStatus* captureStatus,
    unsigned long long* /*id*/) {
  return api_call("musaStreamGetCaptureInfo", [&] {
    require(captureStatus != nullptr, "captureStatus is null");
    stream_of(stream);
    *captureStatus = musaStreamCaptureStatusNone;
  });
}

musaError_t musaStreamGetCaptureInfo_v2(
    musaStream_t stream,
    musaStreamCaptureStatus* captureStatus,
    unsigned long long* /*id*/,
    musaGraph_t* /*graph*/,
    const musaGraphNode_t** /*dependencies*/,
    size_t* /*numDependencies*/) {
  return api_call("musaStreamGetCaptureInfo_v2", [&] {
    require(captureStatus != nullptr, "captureStatus is null");
    stream_of(stream);
    *captureStatus = musaStreamCaptureStatusNone;
  });
}
