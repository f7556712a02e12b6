// SPDX-License-Identifier: Apache-2.0
// Events: records, queries, waits, timing, and what a record outlives.
#include "support/conforms.h"

#include <chrono>
#include <thread>

namespace conformance {

CONFORMS(musaEventCreate, success, can_be_timed) {
  musaEvent_t event = nullptr;
  ASSERT_MUSA(musaEventCreate(&event));
  EXPECT_OK(musaEventRecord(event, nullptr));
  EXPECT_OK(musaEventSynchronize(event));
  float ms = -1;
  EXPECT_OK(musaEventElapsedTime(&ms, event, event));
  EXPECT_EQ(0.0F, ms);
  EXPECT_OK(musaEventDestroy(event));
}
COVERS(musaEventDestroy, success, musaEventCreate, success_can_be_timed)

CONFORMS(musaEventCreate, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaEventCreate(static_cast<musaEvent_t*>(nullptr)));
}
COVERS(musaEventCreate, InvalidValue, musaEventCreate, null_is_invalid_value)

CONFORMS(musaEventCreateWithFlags, success, in_every_flavour) {
  for (const unsigned flags :
       {unsigned{musaEventDefault},
        unsigned{musaEventBlockingSync},
        unsigned{musaEventDisableTiming},
        unsigned{musaEventBlockingSync | musaEventDisableTiming}}) {
    Event event(flags);
    EXPECT_OK(musaEventRecord(event, nullptr));
    EXPECT_OK(musaEventSynchronize(event));
    EXPECT_OK(musaEventQuery(event));
  }
}

CONFORMS(musaEventCreateWithFlags, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaEventCreateWithFlags(nullptr, musaEventDefault));
}

CONFORMS(musaEventCreateWithFlags, InvalidValue, unknown_or_contradictory) {
  musaEvent_t event = nullptr;
  EXPECT_FAILS(musaErrorInvalidValue, musaEventCreateWithFlags(&event, 0x800));
  // An interprocess event cannot be timed.
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaEventCreateWithFlags(&event, musaEventInterprocess));
}

CONFORMS(musaEventRecord, success, completes_after_earlier_work) {
  Stream stream(musaStreamNonBlocking);
  Event event;
  Gate gate;
  Flag flag;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_OK(flag.set_by(stream));
  EXPECT_OK(musaEventRecord(event, stream));
  EXPECT_MUSA(musaErrorNotReady, musaEventQuery(event));
  gate.open();
  EXPECT_OK(musaEventSynchronize(event));
  EXPECT_TRUE(flag.done());
}
COVERS(
    musaEventSynchronize,
    success,
    musaEventRecord,
    success_completes_after_earlier_work)
COVERS(
    musaEventQuery,
    NotReady,
    musaEventRecord,
    success_completes_after_earlier_work)

CONFORMS(musaEventRecord, null, event_is_invalid_handle) {
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaEventRecord(nullptr, nullptr));
}

CONFORMS(musaEventRecord, InvalidResourceHandle, freed_or_foreign) {
  Event event;
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaEventRecord(event, freed_stream()));
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaEventRecord(freed_event(), nullptr));
  if (device_count() > 1) {
    EXPECT_OK(musaSetDevice(1));
    Stream other;
    EXPECT_FAILS(musaErrorInvalidResourceHandle, musaEventRecord(event, other));
    EXPECT_OK(musaSetDevice(0));
  }
}

CONFORMS(musaEventRecordWithFlags, success, has_default_arguments) {
  Event event;
  EXPECT_OK(musaEventRecordWithFlags(event));
  EXPECT_OK(musaEventSynchronize(event));
}

CONFORMS(musaEventRecordWithFlags, null, event_is_invalid_handle) {
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaEventRecordWithFlags(nullptr, nullptr, 0));
}

CONFORMS(musaEventRecordWithFlags, InvalidValue, unknown_flags) {
  Event event;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaEventRecordWithFlags(event, nullptr, 0x80));
}

CONFORMS(musaEventRecordWithFlags, InvalidResourceHandle, freed_handles) {
  Event event;
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaEventRecordWithFlags(event, freed_stream(), 0));
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaEventRecordWithFlags(freed_event(), nullptr, 0));
}

CONFORMS(musaEventSynchronize, null, is_invalid_handle) {
  EXPECT_FAILS(musaErrorInvalidResourceHandle, musaEventSynchronize(nullptr));
}

CONFORMS(musaEventSynchronize, InvalidResourceHandle, freed_event) {
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaEventSynchronize(freed_event()));
}

CONFORMS(musaEventQuery, success, of_a_never_recorded_event) {
  Event event;
  EXPECT_OK(musaEventQuery(event));
  EXPECT_OK(musaEventSynchronize(event));
}

CONFORMS(musaEventQuery, null, is_invalid_handle) {
  EXPECT_FAILS(musaErrorInvalidResourceHandle, musaEventQuery(nullptr));
}

CONFORMS(musaEventQuery, InvalidResourceHandle, freed_event) {
  EXPECT_FAILS(musaErrorInvalidResourceHandle, musaEventQuery(freed_event()));
}

CONFORMS(musaEventDestroy, null, is_invalid_handle) {
  EXPECT_FAILS(musaErrorInvalidResourceHandle, musaEventDestroy(nullptr));
}

CONFORMS(musaEventDestroy, InvalidResourceHandle, twice) {
  EXPECT_FAILS(musaErrorInvalidResourceHandle, musaEventDestroy(freed_event()));
}

CONFORMS(musaEventElapsedTime, success, measures_the_work_between) {
  Stream stream(musaStreamNonBlocking);
  Event start;
  Event end;
  EXPECT_OK(musaEventRecord(start, stream));
  EXPECT_OK(musaLaunchHostFunc(
      stream,
      [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); },
      nullptr));
  EXPECT_OK(musaEventRecord(end, stream));
  EXPECT_OK(musaEventSynchronize(end));
  float ms = -1;
  EXPECT_OK(musaEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 45.0F);
  EXPECT_LT(ms, 5000.0F);
}

CONFORMS(musaEventElapsedTime, null, is_invalid) {
  Event event;
  EXPECT_OK(musaEventRecord(event, nullptr));
  EXPECT_OK(musaEventSynchronize(event));
  float ms = 0;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaEventElapsedTime(nullptr, event, event));
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaEventElapsedTime(&ms, nullptr, event));
}
COVERS(
    musaEventElapsedTime,
    InvalidValue,
    musaEventElapsedTime,
    null_is_invalid)

CONFORMS(musaEventElapsedTime, NotReady, end_has_not_happened) {
  Stream stream(musaStreamNonBlocking);
  Event start;
  Event end;
  EXPECT_OK(musaEventRecord(start, stream));
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_OK(musaEventRecord(end, stream));
  float ms = 0;
  EXPECT_FAILS(musaErrorNotReady, musaEventElapsedTime(&ms, start, end));
}

CONFORMS(musaEventElapsedTime, InvalidResourceHandle, untimed_or_unrecorded) {
  Event untimed(musaEventDisableTiming);
  Event timed;
  Event never;
  EXPECT_OK(musaEventRecord(untimed, nullptr));
  EXPECT_OK(musaEventRecord(timed, nullptr));
  EXPECT_OK(musaDeviceSynchronize());
  float ms = 0;
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaEventElapsedTime(&ms, untimed, timed));
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaEventElapsedTime(&ms, never, timed));
}

BEHAVES(event, wait_on_a_never_recorded_event_is_nothing) {
  Stream stream(musaStreamNonBlocking);
  Event event;
  EXPECT_OK(musaStreamWaitEvent(stream, event, 0));
  Flag flag;
  EXPECT_OK(flag.set_by(stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_TRUE(flag.done());
}

BEHAVES(event, rerecord_does_not_move_an_earlier_wait) {
  Stream first(musaStreamNonBlocking);
  Stream held(musaStreamNonBlocking);
  Stream waiter(musaStreamNonBlocking);
  Event event;
  EXPECT_OK(musaEventRecord(event, first));
  EXPECT_OK(musaStreamWaitEvent(waiter, event, 0));
  Gate gate;
  ASSERT_MUSA(gate.hold(held));
  EXPECT_OK(musaEventRecord(event, held));
  Flag flag;
  EXPECT_OK(flag.set_by(waiter));
  EXPECT_OK(musaStreamSynchronize(waiter));
  EXPECT_TRUE(flag.done());
  EXPECT_FALSE(gate.expired()) << "the wait followed the second record";
  EXPECT_MUSA(musaErrorNotReady, musaEventQuery(event));
}

BEHAVES(event, rerecord_does_not_free_an_earlier_wait) {
  Stream held(musaStreamNonBlocking);
  Stream idle(musaStreamNonBlocking);
  Stream waiter(musaStreamNonBlocking);
  Event event;
  Gate gate;
  ASSERT_MUSA(gate.hold(held));
  EXPECT_OK(musaEventRecord(event, held));
  EXPECT_OK(musaStreamWaitEvent(waiter, event, 0));
  EXPECT_OK(musaEventRecord(event, idle));
  EXPECT_OK(musaEventSynchronize(event));
  Flag flag;
  EXPECT_OK(flag.set_by(waiter));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(flag.done()) << "the wait was moved to the second record";
  gate.open();
  EXPECT_OK(musaStreamSynchronize(waiter));
  EXPECT_TRUE(flag.done());
}

BEHAVES(event, query_is_about_the_latest_record) {
  Stream stream(musaStreamNonBlocking);
  Event event;
  EXPECT_OK(musaEventRecord(event, stream));
  EXPECT_OK(musaEventSynchronize(event));
  EXPECT_OK(musaEventQuery(event));
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_OK(musaEventRecord(event, stream));
  EXPECT_MUSA(musaErrorNotReady, musaEventQuery(event));
}

BEHAVES(event, destroyed_event_still_holds_its_waiters) {
  Stream held(musaStreamNonBlocking);
  Stream waiter(musaStreamNonBlocking);
  Event event;
  Gate gate;
  ASSERT_MUSA(gate.hold(held));
  EXPECT_OK(musaEventRecord(event, held));
  EXPECT_OK(musaStreamWaitEvent(waiter, event, 0));
  EXPECT_OK(musaEventDestroy(event.release()));
  Flag flag;
  EXPECT_OK(flag.set_by(waiter));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(flag.done());
  gate.open();
  EXPECT_OK(musaStreamSynchronize(waiter));
  EXPECT_TRUE(flag.done());
}

BEHAVES(event, destroy_with_a_pending_record_returns_at_once) {
  Stream stream(musaStreamNonBlocking);
  Event event;
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_OK(musaEventRecord(event, stream));
  EXPECT_OK(musaEventDestroy(event.release()));
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(stream));
}

BEHAVES(event, outlives_its_stream) {
  Event start;
  Event end;
  {
    Stream stream(musaStreamNonBlocking);
    EXPECT_OK(musaEventRecord(start, stream));
    EXPECT_OK(musaEventRecord(end, stream));
  }
  EXPECT_OK(musaEventSynchronize(end));
  EXPECT_OK(musaEventQuery(end));
  float ms = -1;
  EXPECT_OK(musaEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 0.0F);
  Stream other;
  EXPECT_OK(musaStreamWaitEvent(other, end, 0));
}

BEHAVES(event, holds_a_stream_of_another_device) {
  if (device_count() < 2) {
    GTEST_SKIP() << "needs two devices";
  }
  Stream first(musaStreamNonBlocking);
  Event event(musaEventDisableTiming);
  const Buffer source(1 << 20);
  EXPECT_OK(musaSetDevice(1));
  Stream second(musaStreamNonBlocking);
  const Buffer target(1 << 20);
  EXPECT_OK(musaSetDevice(0));
  Gate gate;
  ASSERT_MUSA(gate.hold(first));
  EXPECT_OK(musaMemsetAsync(source.get(), 0x77, 1 << 20, first));
  EXPECT_OK(musaEventRecord(event, first));
  EXPECT_OK(musaSetDevice(1));
  EXPECT_OK(musaStreamWaitEvent(second, event, 0));
  EXPECT_OK(
      musaMemcpyPeerAsync(target.get(), 1, source.get(), 0, 1 << 20, second));
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(second));
  gate.open();
  EXPECT_OK(musaStreamSynchronize(second));
  EXPECT_EQ(0x77, target.read()[(1 << 20) - 1]);
  EXPECT_OK(musaSetDevice(0));
}

BEHAVES(event, many_threads_wait_for_one_record) {
  Stream stream(musaStreamNonBlocking);
  Event event;
  Gate gate;
  Flag flag;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_OK(flag.set_by(stream));
  EXPECT_OK(musaEventRecord(event, stream));
  std::atomic<int> saw{0};
  std::thread threads[4];
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      EXPECT_OK(musaEventSynchronize(event));
      saw += flag.done() ? 1 : 0;
    });
  }
  gate.open();
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(4, saw);
}

} // namespace conformance
