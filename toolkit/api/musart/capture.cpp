// SPDX-License-Identifier: Apache-2.0
// Whether a stream is captured: none ever is.
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
