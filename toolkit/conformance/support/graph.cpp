// SPDX-License-Identifier: Apache-2.0
// Owners of graphs, and the scope of a capture.
#include "support/graph.h"

#include "support/conforms.h"

#include <utility>

namespace conformance {

Capture::Capture(musaStream_t stream, musaStreamCaptureMode mode)
    : stream_(stream),
      active_(musaStreamBeginCapture(stream, mode) == musaSuccess) {
  EXPECT_TRUE(active_) << "the capture did not begin";
}

Capture::~Capture() {
  if (active_) {
    musaGraph_t graph = nullptr;
    if (musaStreamEndCapture(stream_, &graph) == musaSuccess) {
      (void)musaGraphDestroy(graph);
    }
    (void)musaGetLastError();
  }
}

musaError_t Capture::end(musaGraph_t* graph) {
  active_ = false;
  const musaError_t code = musaStreamEndCapture(stream_, graph);
  EXPECT_MUSA(musaSuccess, code);
  return code;
}

void Capture::expect_invalid() {
  active_ = false;
  auto* graph = reinterpret_cast<musaGraph_t>(this);
  EXPECT_EQ(musaStreamCaptureStatusInvalidated, capture_status(stream_));
  EXPECT_FAILS(
      musaErrorStreamCaptureInvalidated,
      musaStreamEndCapture(stream_, &graph));
  EXPECT_EQ(nullptr, graph);
  EXPECT_EQ(musaStreamCaptureStatusNone, capture_status(stream_));
}

Exec::Exec(musaGraph_t graph) {
  EXPECT_OK(musaGraphInstantiateWithFlags(&handle_, graph, 0));
  EXPECT_OK(musaGraphDestroy(graph));
}

Exec::~Exec() {
  if (handle_ != nullptr) {
    EXPECT_OK(musaGraphExecDestroy(handle_));
  }
}

musaGraphExec_t Exec::release() {
  return std::exchange(handle_, nullptr);
}

musaStreamCaptureStatus capture_status(musaStream_t stream) {
  auto status = musaStreamCaptureStatusNone;
  EXPECT_OK(musaStreamIsCapturing(stream, &status));
  return status;
}

std::size_t node_count(musaGraph_t graph) {
  std::size_t count = 0;
  EXPECT_OK(musaGraphGetNodes(graph, nullptr, &count));
  return count;
}

Pinned::Pinned(std::size_t count) {
  void* memory = nullptr;
  EXPECT_OK(musaMallocHost(&memory, count * sizeof(int)));
  pointer_ = static_cast<int*>(memory);
  std::memset(memory, 0, count * sizeof(int));
}

Pinned::~Pinned() {
  EXPECT_OK(musaFreeHost(pointer_));
}

} // namespace conformance
