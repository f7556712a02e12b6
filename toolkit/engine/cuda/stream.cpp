// SPDX-License-Identifier: Apache-2.0
// The streams behind handles.
#include "toolkit/engine/cuda/stream.h"

#include "toolkit/engine/cuda/device.h"

namespace musa_standin::engine {

namespace cuda {

StreamTable& stream_table() {
  static auto* const table = new StreamTable;
  return *table;
}

} // namespace cuda

Stream& resolve_stream(musaStream_t handle, int device) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value < 2) {
    return cuda::device(device).legacy();
  }
  if (value == 2) {
    return cuda::device(device).per_thread();
  }
  cuda::Stream* stream = cuda::stream_table().find(handle);
  if (stream == nullptr || !stream->alive()) {
    throw Error(
        musaErrorInvalidResourceHandle,
        "the stream handle is none, or its stream was destroyed");
  }
  return *stream;
}

} // namespace musa_standin::engine
