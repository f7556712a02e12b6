// SPDX-License-Identifier: Apache-2.0
// Stream capture: how it begins, what it tells, how it ends.
#include "support/graph.h"

#include "support/conforms.h"

#include <thread>

namespace conformance {

namespace {

musaError_t allocate_here() {
  void* memory = nullptr;
  const musaError_t code = musaMalloc(&memory, 64);
  return code == musaSuccess ? musaFree(memory) : code;
}

} // namespace

CONFORMS(musaStreamBeginCapture, success, records_and_runs_nothing) {
  Stream stream(musaStreamNonBlocking);
  const Buffer buffer(64);
  buffer.fill(1);
  {
    Capture capture(stream);
    EXPECT_EQ(musaStreamCaptureStatusActive, capture_status(stream));
    EXPECT_OK(musaMemsetAsync(buffer.get(), 2, 64, stream));
    musaGraph_t graph = nullptr;
    ASSERT_MUSA(capture.end(&graph));
    EXPECT_OK(musaGraphDestroy(graph));
  }
  EXPECT_EQ(1, buffer.read()[0]);
}

CONFORMS(musaStreamBeginCapture, null, cannot_capture_the_default_stream) {
  EXPECT_FAILS(
      musaErrorStreamCaptureUnsupported,
      musaStreamBeginCapture(nullptr, musaStreamCaptureModeGlobal));
}
COVERS(
    musaStreamBeginCapture,
    StreamCaptureUnsupported,
    musaStreamBeginCapture,
    null_cannot_capture_the_default_stream)

CONFORMS(musaStreamBeginCapture, InvalidValue, for_an_unknown_mode) {
  Stream stream;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaStreamBeginCapture(stream, static_cast<musaStreamCaptureMode>(17)));
}

CONFORMS(musaStreamBeginCapture, IllegalState, while_it_is_captured) {
  Stream stream;
  const Capture capture(stream);
  EXPECT_FAILS(
      musaErrorIllegalState,
      musaStreamBeginCapture(stream, musaStreamCaptureModeGlobal));
}

CONFORMS(musaStreamBeginCapture, InvalidResourceHandle, destroyed_stream) {
  const musaStream_t stream = freed_stream();
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaStreamBeginCapture(stream, musaStreamCaptureModeGlobal));
}

CONFORMS(musaStreamEndCapture, success, yields_an_empty_graph_for_nothing) {
  Stream stream;
  Capture capture(stream);
  musaGraph_t graph = nullptr;
  ASSERT_MUSA(capture.end(&graph));
  EXPECT_EQ(0U, node_count(graph));
  EXPECT_OK(musaGraphDestroy(graph));
}

CONFORMS(musaStreamEndCapture, null, is_invalid_value) {
  Stream stream;
  const Capture capture(stream);
  EXPECT_FAILS(musaErrorInvalidValue, musaStreamEndCapture(stream, nullptr));
}
COVERS(
    musaStreamEndCapture,
    InvalidValue,
    musaStreamEndCapture,
    null_is_invalid_value)

CONFORMS(musaStreamEndCapture, IllegalState, without_a_capture) {
  Stream stream;
  musaGraph_t graph = nullptr;
  EXPECT_FAILS(musaErrorIllegalState, musaStreamEndCapture(stream, &graph));
}

CONFORMS(musaStreamEndCapture, StreamCaptureUnmatched, on_a_forked_stream) {
  Stream origin(musaStreamNonBlocking);
  Stream forked(musaStreamNonBlocking);
  Event fork(musaEventDisableTiming);
  const Capture capture(origin);
  ASSERT_MUSA(musaEventRecord(fork, origin));
  ASSERT_MUSA(musaStreamWaitEvent(forked, fork, 0));
  musaGraph_t graph = nullptr;
  EXPECT_FAILS(
      musaErrorStreamCaptureUnmatched,
      musaStreamEndCapture(forked, &graph));
}

CONFORMS(musaStreamEndCapture, StreamCaptureUnjoined, with_a_loose_branch) {
  Stream origin(musaStreamNonBlocking);
  Stream forked(musaStreamNonBlocking);
  Event fork(musaEventDisableTiming);
  const Buffer buffer(64);
  ASSERT_MUSA(musaStreamBeginCapture(origin, musaStreamCaptureModeGlobal));
  EXPECT_OK(musaEventRecord(fork, origin));
  EXPECT_OK(musaStreamWaitEvent(forked, fork, 0));
  EXPECT_OK(musaMemsetAsync(buffer.get(), 1, 64, forked));
  musaGraph_t graph = nullptr;
  EXPECT_FAILS(
      musaErrorStreamCaptureUnjoined,
      musaStreamEndCapture(origin, &graph));
  EXPECT_EQ(nullptr, graph);
  EXPECT_EQ(musaStreamCaptureStatusNone, capture_status(origin));
  EXPECT_EQ(musaStreamCaptureStatusNone, capture_status(forked));
}

CONFORMS(musaStreamEndCapture, StreamCaptureWrongThread, unless_relaxed) {
  Stream stream(musaStreamNonBlocking);
  {
    const Capture capture(stream, musaStreamCaptureModeThreadLocal);
    std::thread([&] {
      musaGraph_t graph = nullptr;
      EXPECT_FAILS(
          musaErrorStreamCaptureWrongThread,
          musaStreamEndCapture(stream, &graph));
    }).join();
  }
  ASSERT_MUSA(musaStreamBeginCapture(stream, musaStreamCaptureModeRelaxed));
  std::thread([&] {
    musaGraph_t graph = nullptr;
    EXPECT_OK(musaStreamEndCapture(stream, &graph));
    EXPECT_OK(musaGraphDestroy(graph));
  }).join();
}

CONFORMS(musaStreamEndCapture, StreamCaptureInvalidated, after_a_misuse) {
  Stream stream(musaStreamNonBlocking);
  const Buffer buffer(64);
  Capture capture(stream);
  EXPECT_FAILS(
      musaErrorStreamCaptureUnsupported,
      musaStreamSynchronize(stream));
  EXPECT_FAILS(
      musaErrorStreamCaptureInvalidated,
      musaMemsetAsync(buffer.get(), 1, 64, stream));
  capture.expect_invalid();
  EXPECT_OK(musaMemsetAsync(buffer.get(), 3, 64, stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(3, buffer.read()[0]);
}

CONFORMS(musaStreamIsCapturing, success, tells_each_state) {
  Stream stream(musaStreamNonBlocking);
  EXPECT_EQ(musaStreamCaptureStatusNone, capture_status(stream));
  EXPECT_EQ(musaStreamCaptureStatusNone, capture_status(nullptr));
  Capture capture(stream);
  EXPECT_EQ(musaStreamCaptureStatusActive, capture_status(stream));
  (void)musaStreamQuery(stream);
  (void)musaGetLastError();
  capture.expect_invalid();
}

CONFORMS(musaStreamIsCapturing, null, is_invalid_value) {
  Stream stream;
  EXPECT_FAILS(musaErrorInvalidValue, musaStreamIsCapturing(stream, nullptr));
}
COVERS(
    musaStreamIsCapturing,
    InvalidValue,
    musaStreamIsCapturing,
    null_is_invalid_value)

CONFORMS(musaStreamIsCapturing, StreamCaptureImplicit, of_the_default_stream) {
  Stream blocking;
  const Capture capture(blocking);
  auto status = musaStreamCaptureStatusNone;
  EXPECT_FAILS(
      musaErrorStreamCaptureImplicit,
      musaStreamIsCapturing(nullptr, &status));
  EXPECT_EQ(musaStreamCaptureStatusActive, capture_status(blocking))
      << "the question spoils nothing";
}

CONFORMS(musaStreamGetCaptureInfo, success, ids_are_the_captures) {
  Stream stream(musaStreamNonBlocking);
  unsigned long long first = 0;
  unsigned long long second = 0;
  for (unsigned long long* id : {&first, &second}) {
    const Capture capture(stream);
    auto status = musaStreamCaptureStatusNone;
    EXPECT_OK(musaStreamGetCaptureInfo(stream, &status, id));
    EXPECT_EQ(musaStreamCaptureStatusActive, status);
    EXPECT_OK(musaStreamGetCaptureInfo(stream, &status, nullptr));
  }
  EXPECT_NE(first, second);
}

CONFORMS(musaStreamGetCaptureInfo, null, is_invalid_value) {
  Stream stream;
  unsigned long long id = 0;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaStreamGetCaptureInfo(stream, nullptr, &id));
}
COVERS(
    musaStreamGetCaptureInfo,
    InvalidValue,
    musaStreamGetCaptureInfo,
    null_is_invalid_value)

CONFORMS(musaStreamGetCaptureInfo, StreamCaptureImplicit, default_stream) {
  Stream blocking;
  const Capture capture(blocking);
  auto status = musaStreamCaptureStatusNone;
  EXPECT_FAILS(
      musaErrorStreamCaptureImplicit,
      musaStreamGetCaptureInfo(nullptr, &status, nullptr));
}

CONFORMS(musaStreamGetCaptureInfo_v2, success, shows_the_growing_graph) {
  Stream stream(musaStreamNonBlocking);
  const Buffer buffer(64);
  const Capture capture(stream);
  auto status = musaStreamCaptureStatusNone;
  unsigned long long id = 0;
  EXPECT_OK(musaStreamGetCaptureInfo_v2(
      stream,
      &status,
      &id,
      nullptr,
      nullptr,
      nullptr));
  EXPECT_EQ(musaStreamCaptureStatusActive, status);
  musaGraph_t graph = nullptr;
  const musaGraphNode_t* last = nullptr;
  std::size_t count = 9;
  EXPECT_OK(
      musaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &last, &count));
  EXPECT_NE(nullptr, graph);
  EXPECT_EQ(0U, count);
  EXPECT_OK(musaMemsetAsync(buffer.get(), 1, 64, stream));
  EXPECT_OK(musaMemsetAsync(buffer.get(), 2, 64, stream));
  EXPECT_OK(
      musaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &last, &count));
  ASSERT_EQ(1U, count);
  auto type = musaGraphNodeTypeEmpty;
  EXPECT_OK(musaGraphNodeGetType(last[0], &type));
  EXPECT_EQ(musaGraphNodeTypeMemset, type);
}

CONFORMS(musaStreamGetCaptureInfo_v2, null, is_invalid_value) {
  Stream stream;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaStreamGetCaptureInfo_v2(
          stream,
          nullptr,
          nullptr,
          nullptr,
          nullptr,
          nullptr));
}
COVERS(
    musaStreamGetCaptureInfo_v2,
    InvalidValue,
    musaStreamGetCaptureInfo_v2,
    null_is_invalid_value)

CONFORMS(musaStreamGetCaptureInfo_v2, StreamCaptureImplicit, default_stream) {
  Stream blocking;
  const Capture capture(blocking);
  auto status = musaStreamCaptureStatusNone;
  EXPECT_FAILS(
      musaErrorStreamCaptureImplicit,
      musaStreamGetCaptureInfo_v2(
          nullptr,
          &status,
          nullptr,
          nullptr,
          nullptr,
          nullptr));
}

CONFORMS(musaThreadExchangeStreamCaptureMode, success, lifts_the_ban) {
  Stream stream(musaStreamNonBlocking);
  Capture capture(stream);
  auto mode = musaStreamCaptureModeRelaxed;
  EXPECT_OK(musaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(musaStreamCaptureModeGlobal, mode);
  EXPECT_OK(allocate_here());
  EXPECT_OK(musaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(musaStreamCaptureModeRelaxed, mode);
  EXPECT_EQ(musaStreamCaptureStatusActive, capture_status(stream));
  EXPECT_FAILS(musaErrorStreamCaptureUnsupported, allocate_here());
  capture.expect_invalid();
}

CONFORMS(musaThreadExchangeStreamCaptureMode, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaThreadExchangeStreamCaptureMode(nullptr));
}
CONFORMS(musaThreadExchangeStreamCaptureMode, InvalidValue, unknown_mode) {
  auto mode = static_cast<musaStreamCaptureMode>(17);
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaThreadExchangeStreamCaptureMode(&mode));
}

} // namespace conformance
