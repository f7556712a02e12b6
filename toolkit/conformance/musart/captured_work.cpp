// SPDX-License-Identifier: Apache-2.0
// Stream capture: what can be recorded, and what is forbidden meanwhile.
#include "support/graph.h"

#include "support/conforms.h"

#include <atomic>
#include <thread>
#include <vector>

namespace conformance {

namespace {

// The call fails with one of two codes: which check comes first is open.
void expect_either(musaError_t first, musaError_t second, musaError_t code) {
  EXPECT_TRUE(code == first || code == second) << code_name(code);
  EXPECT_MUSA(code, musaGetLastError());
}

// What musaMalloc says in another thread.
musaError_t allocate_elsewhere() {
  musaError_t code = musaSuccess;
  std::thread([&] {
    void* memory = nullptr;
    code = musaMalloc(&memory, 64);
    if (code == musaSuccess) {
      code = musaFree(memory);
    }
  }).join();
  return code;
}

musaError_t allocate_here() {
  void* memory = nullptr;
  const musaError_t code = musaMalloc(&memory, 64);
  return code == musaSuccess ? musaFree(memory) : code;
}

} // namespace

CONFORMS(musaMalloc, StreamCaptureUnsupported, while_a_stream_is_captured) {
  Stream stream(musaStreamNonBlocking);
  {
    Capture capture(stream);
    EXPECT_FAILS(musaErrorStreamCaptureUnsupported, allocate_here());
    capture.expect_invalid();
  }
  {
    Capture capture(stream);
    EXPECT_MUSA(musaErrorStreamCaptureUnsupported, allocate_elsewhere());
    capture.expect_invalid();
  }
  {
    const Capture capture(stream, musaStreamCaptureModeThreadLocal);
    EXPECT_OK(allocate_elsewhere());
    EXPECT_EQ(musaStreamCaptureStatusActive, capture_status(stream));
  }
  const Capture capture(stream, musaStreamCaptureModeRelaxed);
  EXPECT_OK(allocate_here());
  EXPECT_EQ(musaStreamCaptureStatusActive, capture_status(stream));
}

CONFORMS(musaStreamSynchronize, StreamCaptureUnsupported, of_a_captured_one) {
  Stream stream(musaStreamNonBlocking);
  Capture capture(stream, musaStreamCaptureModeRelaxed);
  EXPECT_FAILS(
      musaErrorStreamCaptureUnsupported,
      musaStreamSynchronize(stream));
  capture.expect_invalid();
}

CONFORMS(musaStreamQuery, StreamCaptureUnsupported, of_a_captured_one) {
  Stream stream(musaStreamNonBlocking);
  Capture capture(stream, musaStreamCaptureModeRelaxed);
  EXPECT_FAILS(musaErrorStreamCaptureUnsupported, musaStreamQuery(stream));
  capture.expect_invalid();
}

CONFORMS(musaDeviceSynchronize, StreamCaptureUnsupported, with_a_capture) {
  Stream stream(musaStreamNonBlocking);
  Capture capture(stream, musaStreamCaptureModeRelaxed);
  EXPECT_FAILS(musaErrorStreamCaptureUnsupported, musaDeviceSynchronize());
  capture.expect_invalid();
}

CONFORMS(musaStreamAddCallback, StreamCaptureUnsupported, on_a_captured_one) {
  Stream stream(musaStreamNonBlocking);
  const Capture capture(stream);
  EXPECT_FAILS(
      musaErrorStreamCaptureUnsupported,
      musaStreamAddCallback(
          stream,
          [](musaStream_t, musaError_t, void*) {},
          nullptr,
          0));
}

CONFORMS(musaMemsetAsync, StreamCaptureImplicit, on_the_default_stream) {
  Stream blocking;
  const Buffer buffer(64);
  Capture capture(blocking);
  EXPECT_FAILS(
      musaErrorStreamCaptureImplicit,
      musaMemsetAsync(buffer.get(), 1, 64, nullptr));
  capture.expect_invalid();
  EXPECT_OK(musaMemsetAsync(buffer.get(), 1, 64, nullptr));
}

BEHAVES(capture, of_a_non_blocking_stream_leaves_the_default_stream_alone) {
  Stream stream(musaStreamNonBlocking);
  const Buffer buffer(64);
  {
    Capture capture(stream);
    EXPECT_OK(musaMemsetAsync(buffer.get(), 9, 64, nullptr));
    EXPECT_EQ(musaStreamCaptureStatusActive, capture_status(stream));
    musaGraph_t graph = nullptr;
    ASSERT_MUSA(capture.end(&graph));
    EXPECT_OK(musaGraphDestroy(graph));
  }
  EXPECT_EQ(9, buffer.read()[63]);
}

CONFORMS(musaStreamWaitEvent, StreamCaptureIsolation, for_work_outside) {
  Stream outside(musaStreamNonBlocking);
  Stream stream(musaStreamNonBlocking);
  Event event(musaEventDisableTiming);
  ASSERT_MUSA(musaEventRecord(event, outside));
  Capture capture(stream);
  EXPECT_FAILS(
      musaErrorStreamCaptureIsolation,
      musaStreamWaitEvent(stream, event, 0));
  capture.expect_invalid();
}

CONFORMS(musaStreamWaitEvent, StreamCaptureMerge, of_two_captures) {
  Stream first(musaStreamNonBlocking);
  Stream second(musaStreamNonBlocking);
  Event event(musaEventDisableTiming);
  Capture one(first);
  Capture other(second);
  ASSERT_MUSA(musaEventRecord(event, first));
  EXPECT_FAILS(
      musaErrorStreamCaptureMerge,
      musaStreamWaitEvent(second, event, 0));
  one.expect_invalid();
  other.expect_invalid();
}

CONFORMS(musaEventQuery, CapturedEvent, in_a_capture) {
  Stream stream(musaStreamNonBlocking);
  Event event(musaEventDisableTiming);
  {
    const Capture capture(stream);
    ASSERT_MUSA(musaEventRecord(event, stream));
    // Another thread may not ask either, whatever its mode.
    std::thread([&] {
      auto mode = musaStreamCaptureModeRelaxed;
      EXPECT_OK(musaThreadExchangeStreamCaptureMode(&mode));
      EXPECT_FAILS(musaErrorCapturedEvent, musaEventQuery(event));
    }).join();
  }
  const Capture capture(stream);
  ASSERT_MUSA(musaEventRecord(event, stream));
  expect_either(
      musaErrorCapturedEvent,
      musaErrorStreamCaptureUnsupported,
      musaEventQuery(event));
}

CONFORMS(musaEventSynchronize, CapturedEvent, in_a_capture) {
  Stream stream(musaStreamNonBlocking);
  Event event(musaEventDisableTiming);
  const Capture capture(stream, musaStreamCaptureModeRelaxed);
  ASSERT_MUSA(musaEventRecord(event, stream));
  EXPECT_FAILS(musaErrorCapturedEvent, musaEventSynchronize(event));
}

BEHAVES(capture, records_of_events_with_timing_are_no_nodes) {
  Stream stream(musaStreamNonBlocking);
  Event start;
  Event stop;
  const Buffer buffer(64);
  musaGraph_t graph = captured(stream, [&] {
    EXPECT_OK(musaEventRecord(start, stream));
    EXPECT_OK(musaMemsetAsync(buffer.get(), 1, 64, stream));
    EXPECT_OK(musaEventRecord(stop, stream));
  });
  EXPECT_EQ(1U, node_count(graph));
  const Exec exec(graph);
  EXPECT_OK(musaEventRecord(start, stream));
  EXPECT_OK(musaGraphLaunch(exec, stream));
  EXPECT_OK(musaEventRecord(stop, stream));
  EXPECT_OK(musaEventSynchronize(stop));
  float milliseconds = -1;
  EXPECT_OK(musaEventElapsedTime(&milliseconds, start, stop));
  EXPECT_GE(milliseconds, 0.0F);
}

BEHAVES(capture, pageable_copies_are_repeated_or_refused) {
  Stream stream(musaStreamNonBlocking);
  const Buffer buffer(4 * sizeof(int));
  std::vector<int> host(4, 1);
  Capture capture(stream);
  const musaError_t code = musaMemcpyAsync(
      buffer.get(),
      host.data(),
      buffer.bytes(),
      musaMemcpyHostToDevice,
      stream);
  if (code != musaSuccess) {
    expect_either(
        musaErrorStreamCaptureUnsupported,
        musaErrorNotSupported,
        code);
    return;
  }
  musaGraph_t graph = nullptr;
  ASSERT_MUSA(capture.end(&graph));
  const Exec exec(graph);
  for (const int value : {5, 6}) {
    host.assign(4, value);
    EXPECT_OK(musaGraphLaunch(exec, stream));
    EXPECT_OK(musaStreamSynchronize(stream));
    EXPECT_EQ(value, buffer.read()[0]);
  }
}

BEHAVES(capture, goes_on_while_other_threads_work) {
  constexpr int kRounds = 50;
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    Stream stream(musaStreamNonBlocking);
    const Buffer buffer(64);
    while (!stop) {
      EXPECT_OK(musaMemsetAsync(buffer.get(), 1, 64, stream));
      EXPECT_OK(musaStreamSynchronize(stream));
    }
  });
  Stream stream(musaStreamNonBlocking);
  Stream other(musaStreamNonBlocking);
  Event fork(musaEventDisableTiming);
  Event join(musaEventDisableTiming);
  const Buffer buffer(64);
  for (int round = 0; round < kRounds; ++round) {
    Capture capture(stream, musaStreamCaptureModeThreadLocal);
    EXPECT_OK(musaEventRecord(fork, stream));
    EXPECT_OK(musaStreamWaitEvent(other, fork, 0));
    EXPECT_OK(musaMemsetAsync(buffer.get(), round, 64, other));
    EXPECT_OK(musaEventRecord(join, other));
    EXPECT_OK(musaStreamWaitEvent(stream, join, 0));
    musaGraph_t graph = nullptr;
    ASSERT_MUSA(capture.end(&graph));
    const Exec exec(graph);
    EXPECT_OK(musaGraphLaunch(exec, stream));
    EXPECT_OK(musaStreamSynchronize(stream));
  }
  stop = true;
  worker.join();
  EXPECT_EQ(kRounds - 1, buffer.read()[0]);
}

BEHAVES(capture, of_a_destroyed_stream_is_forgotten) {
  const Buffer buffer(64);
  {
    Stream stream(musaStreamNonBlocking);
    ASSERT_MUSA(musaStreamBeginCapture(stream, musaStreamCaptureModeGlobal));
    EXPECT_OK(musaMemsetAsync(buffer.get(), 1, 64, stream));
  }
  EXPECT_OK(musaDeviceSynchronize());
  EXPECT_OK(allocate_here());
}

} // namespace conformance
