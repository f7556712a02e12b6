// SPDX-License-Identifier: Apache-2.0
// The streams behind handles.
#include "toolkit/engine/cuda/stream.h"

#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/flag_map.h"
#include "toolkit/engine/cuda/graph_runtime.h"

namespace musa_standin::engine {

namespace cuda {

StreamTable& stream_table() {
  static auto* const table = new StreamTable;
  return *table;
}

Stream& create_stream(int device, unsigned flags, int priority) {
  use_device(device);
  cudaStream_t native = nullptr;
  check(cudaStreamCreateWithPriority(
      &native,
      to_cuda(kStreamFlags, flags),
      priority));
  try {
    Stream& stream = stream_table().take();
    stream.open(device, flags, priority, native);
    return stream;
  } catch (const Error&) {
    ignore(cudaStreamDestroy(native));
    throw;
  }
}

void destroy_stream(musaStream_t handle) {
  Stream* stream = stream_table().find(handle);
  if (stream == nullptr || stream->is_default() || !stream->kill()) {
    throw Error(
        musaErrorInvalidResourceHandle,
        "the stream handle is none, or its stream was destroyed");
  }
  const int device = stream->device();
  const cudaStream_t native = stream->native();
  leave_capture(native);
  stream_table().give_back(*stream);
  check(cudaStreamDestroy(native), device);
}

void drop_streams(int device, bool context_is_gone) {
  stream_table().for_each([&](Stream& stream) {
    if (stream.device() != device || stream.is_default() || !stream.kill()) {
      return;
    }
    const cudaStream_t native = stream.native();
    leave_capture(native);
    stream_table().give_back(stream);
    if (!context_is_gone) {
      ignore(cudaStreamDestroy(native));
    }
  });
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
