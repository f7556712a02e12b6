// SPDX-License-Identifier: Apache-2.0
// Streams: creation, flags, priorities, query, synchronise, destroy, waits.
#include "support/conforms.h"

#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace conformance {

CONFORMS(musaStreamCreate, success, yields_distinct_blocking_streams) {
  Stream first;
  Stream second;
  EXPECT_NE(
      static_cast<musaStream_t>(first),
      static_cast<musaStream_t>(second));
  Flag flag;
  EXPECT_OK(flag.set_by(first));
  EXPECT_OK(musaStreamSynchronize(first));
  EXPECT_TRUE(flag.done());
}

CONFORMS(musaStreamCreate, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaStreamCreate(nullptr));
}
COVERS(musaStreamCreate, InvalidValue, musaStreamCreate, null_is_invalid_value)

CONFORMS(musaStreamCreateWithFlags, success, both_flags) {
  Stream blocking(musaStreamDefault);
  Stream free_running(musaStreamNonBlocking);
  EXPECT_OK(musaStreamQuery(blocking));
  EXPECT_OK(musaStreamQuery(free_running));
}

CONFORMS(musaStreamCreateWithFlags, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaStreamCreateWithFlags(nullptr, musaStreamDefault));
}

CONFORMS(musaStreamCreateWithFlags, InvalidValue, unknown_flags) {
  musaStream_t stream = nullptr;
  EXPECT_FAILS(musaErrorInvalidValue, musaStreamCreateWithFlags(&stream, 0x80));
}

CONFORMS(musaStreamCreateWithPriority, success, clamps_to_the_range) {
  int least = 0;
  int greatest = 0;
  EXPECT_OK(musaDeviceGetStreamPriorityRange(&least, &greatest));
  for (int priority = greatest; priority <= least; ++priority) {
    Stream stream(musaStreamNonBlocking, priority);
    int actual = 99;
    EXPECT_OK(musaStreamGetPriority(stream, &actual));
    EXPECT_EQ(priority, actual);
  }
  Stream low(musaStreamNonBlocking, least + 10);
  Stream high(musaStreamNonBlocking, greatest - 10);
  int actual = 99;
  EXPECT_OK(musaStreamGetPriority(low, &actual));
  EXPECT_EQ(least, actual);
  EXPECT_OK(musaStreamGetPriority(high, &actual));
  EXPECT_EQ(greatest, actual);
}
COVERS(
    musaStreamGetPriority,
    success,
    musaStreamCreateWithPriority,
    success_clamps_to_the_range)

CONFORMS(musaStreamCreateWithPriority, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaStreamCreateWithPriority(nullptr, musaStreamDefault, 0));
}

CONFORMS(musaStreamCreateWithPriority, InvalidValue, unknown_flags) {
  musaStream_t stream = nullptr;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaStreamCreateWithPriority(&stream, 0x80, 0));
}

CONFORMS(musaStreamGetPriority, null, is_invalid_value) {
  Stream stream;
  EXPECT_FAILS(musaErrorInvalidValue, musaStreamGetPriority(stream, nullptr));
}
COVERS(
    musaStreamGetPriority,
    InvalidValue,
    musaStreamGetPriority,
    null_is_invalid_value)

CONFORMS(musaStreamGetPriority, InvalidResourceHandle, freed_stream) {
  int priority = 0;
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaStreamGetPriority(freed_stream(), &priority));
}

CONFORMS(musaStreamGetFlags, success, are_those_of_the_creation) {
  Stream blocking;
  Stream free_running(musaStreamNonBlocking);
  unsigned flags = 99;
  EXPECT_OK(musaStreamGetFlags(blocking, &flags));
  EXPECT_EQ(unsigned{musaStreamDefault}, flags);
  EXPECT_OK(musaStreamGetFlags(free_running, &flags));
  EXPECT_EQ(unsigned{musaStreamNonBlocking}, flags);
}

CONFORMS(musaStreamGetFlags, null, is_invalid_value) {
  Stream stream;
  EXPECT_FAILS(musaErrorInvalidValue, musaStreamGetFlags(stream, nullptr));
}
COVERS(
    musaStreamGetFlags,
    InvalidValue,
    musaStreamGetFlags,
    null_is_invalid_value)

CONFORMS(musaStreamGetFlags, InvalidResourceHandle, freed_stream) {
  unsigned flags = 0;
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaStreamGetFlags(freed_stream(), &flags));
}

CONFORMS(musaStreamDestroy, success, lets_queued_work_finish) {
  Stream stream(musaStreamNonBlocking);
  Event event;
  Gate gate;
  Flag flag;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_OK(flag.set_by(stream));
  EXPECT_OK(musaEventRecord(event, stream));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_OK(musaStreamDestroy(stream.release()));
  EXPECT_LT(seconds_since(start), 5.0) << "destroy waited for the stream";
  EXPECT_FALSE(flag.done());
  gate.open();
  EXPECT_OK(musaEventSynchronize(event));
  EXPECT_TRUE(flag.done());
}

CONFORMS(musaStreamDestroy, null, is_invalid_handle) {
  EXPECT_FAILS(musaErrorInvalidResourceHandle, musaStreamDestroy(nullptr));
}

CONFORMS(musaStreamDestroy, InvalidResourceHandle, twice) {
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaStreamDestroy(freed_stream()));
}

CONFORMS(musaStreamSynchronize, success, waits_for_the_last_task) {
  for (const unsigned flags :
       {unsigned{musaStreamDefault}, unsigned{musaStreamNonBlocking}}) {
    Stream stream(flags);
    Flag flag;
    EXPECT_OK(musaLaunchHostFunc(
        stream,
        [](void*) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        },
        nullptr));
    EXPECT_OK(flag.set_by(stream));
    EXPECT_OK(musaStreamSynchronize(stream));
    EXPECT_TRUE(flag.done());
  }
}

CONFORMS(musaStreamSynchronize, null, is_the_default_stream) {
  Flag flag;
  EXPECT_OK(flag.set_by(nullptr));
  EXPECT_OK(musaStreamSynchronize(nullptr));
  EXPECT_TRUE(flag.done());
}

CONFORMS(musaStreamSynchronize, InvalidResourceHandle, freed_stream) {
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaStreamSynchronize(freed_stream()));
}

CONFORMS(musaStreamQuery, success, turns_ready) {
  Stream stream;
  EXPECT_OK(musaStreamQuery(stream)) << "a new stream is idle";
  Flag flag;
  EXPECT_OK(flag.set_by(stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_OK(musaStreamQuery(stream));
}

CONFORMS(musaStreamQuery, null, is_the_default_stream) {
  EXPECT_OK(musaStreamSynchronize(nullptr));
  EXPECT_OK(musaStreamQuery(nullptr));
  Gate gate;
  ASSERT_MUSA(gate.hold(nullptr));
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(nullptr));
}

CONFORMS(musaStreamQuery, InvalidResourceHandle, freed_stream) {
  EXPECT_FAILS(musaErrorInvalidResourceHandle, musaStreamQuery(freed_stream()));
}

CONFORMS(musaStreamQuery, NotReady, while_the_last_task_runs) {
  Stream stream(musaStreamNonBlocking);
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  ASSERT_TRUE(gate.wait_entered());
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(musaErrorNotReady, musaStreamQuery(stream));
  }
  gate.open();
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_OK(musaStreamQuery(stream));
}

CONFORMS(musaStreamWaitEvent, success, orders_two_streams) {
  Stream first(musaStreamNonBlocking);
  Stream second(musaStreamNonBlocking);
  Event event(musaEventDisableTiming);
  const Buffer buffer(1 << 16);
  for (int round = 0; round < 50; ++round) {
    EXPECT_OK(musaMemsetAsync(buffer.get(), round, 1 << 16, first));
    EXPECT_OK(musaEventRecord(event, first));
    EXPECT_OK(musaStreamWaitEvent(second, event, 0));
    unsigned char last = 0;
    EXPECT_OK(musaMemcpyAsync(
        &last,
        buffer.at(65535),
        1,
        musaMemcpyDeviceToHost,
        second));
    EXPECT_OK(musaStreamSynchronize(second));
    ASSERT_EQ(round, last);
  }
}

CONFORMS(musaStreamWaitEvent, null, event_is_invalid_handle) {
  Stream stream;
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaStreamWaitEvent(stream, nullptr, 0));
}

CONFORMS(musaStreamWaitEvent, InvalidResourceHandle, freed_handles) {
  Stream stream;
  Event event;
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaStreamWaitEvent(stream, freed_event(), 0));
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaStreamWaitEvent(freed_stream(), event, 0));
}

CONFORMS(musaStreamWaitEvent, InvalidValue, unknown_flags) {
  Stream stream;
  Event event;
  EXPECT_FAILS(musaErrorInvalidValue, musaStreamWaitEvent(stream, event, 0x80));
}

BEHAVES(stream, wait_holds_later_work_only) {
  Stream first(musaStreamNonBlocking);
  Stream second(musaStreamNonBlocking);
  Event event;
  Gate gate;
  Flag before;
  Flag after;
  ASSERT_MUSA(gate.hold(first));
  EXPECT_OK(musaEventRecord(event, first));
  EXPECT_OK(before.set_by(second));
  EXPECT_OK(musaStreamWaitEvent(second, event, 0));
  EXPECT_OK(after.set_by(second));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_TRUE(before.done());
  EXPECT_FALSE(after.done());
  gate.open();
  EXPECT_OK(musaStreamSynchronize(second));
  EXPECT_TRUE(after.done());
}

BEHAVES(stream, submit_does_not_block) {
  Stream stream(musaStreamNonBlocking);
  const Buffer buffer(1 << 20);
  Event event;
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  ASSERT_TRUE(gate.wait_entered());
  const auto start = std::chrono::steady_clock::now();
  // Fewer than a driver's queue holds: 1,024 commands are usual.
  for (int i = 0; i < 100; ++i) {
    EXPECT_OK(musaMemsetAsync(buffer.get(), i, 1 << 20, stream));
    EXPECT_OK(musaMemcpyAsync(
        buffer.get(),
        buffer.at(1 << 19),
        1 << 19,
        musaMemcpyDeviceToDevice,
        stream));
    EXPECT_OK(musaEventRecord(event, stream));
    EXPECT_OK(musaStreamWaitEvent(stream, event, 0));
  }
  EXPECT_LT(seconds_since(start), 4.0);
  EXPECT_FALSE(gate.expired());
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(stream));
  gate.open();
  EXPECT_OK(musaStreamSynchronize(stream));
}

BEHAVES(stream, full_queue_holds_the_submitter_and_loses_nothing) {
  constexpr int kTasks = 20'000;
  Stream stream(musaStreamNonBlocking);
  int ran = 0;
#if CONFORMANCE_PORTABLE
  const auto full_before = musaPortableCounter("full_queue");
#endif
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    gate.open();
  });
  for (int i = 0; i < kTasks; ++i) {
    ASSERT_MUSA(musaLaunchHostFunc(
        stream,
        [](void* count) { ++*static_cast<int*>(count); },
        &ran));
  }
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(kTasks, ran);
  opener.join();
#if CONFORMANCE_PORTABLE
  if (engine_name() == "cpu") { // others leave the queue to their driver
    EXPECT_GT(musaPortableCounter("full_queue"), full_before);
  }
#endif
}

BEHAVES(stream, many_streams_make_progress_at_once) {
  std::vector<std::unique_ptr<Stream>> streams;
  Gate gate;
  // Where the streams share a device's queues, only as many as there are of
  // those are free of each other.
  const int number = engine_name() == "cuda" ? 8 : 64;
  for (int i = 0; i < number; ++i) {
    streams.push_back(
        std::make_unique<Stream>(unsigned{musaStreamNonBlocking}));
  }
  ASSERT_MUSA(gate.hold(*streams[0]));
  ASSERT_TRUE(gate.wait_entered());
  for (std::size_t i = 1; i < streams.size(); ++i) {
    Flag flag;
    EXPECT_OK(flag.set_by(*streams[i]));
    EXPECT_OK(musaStreamSynchronize(*streams[i]));
    EXPECT_TRUE(flag.done());
  }
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(*streams[0]));
}

BEHAVES(stream, tasks_of_one_stream_never_overlap) {
  Stream stream(musaStreamNonBlocking);
  struct State {
    std::atomic<int> inside{0};
    std::atomic<int> worst{0};
  } state;
  const auto task = [](void* argument) {
    auto* s = static_cast<State*>(argument);
    const int now = ++s->inside;
    if (now > s->worst) {
      s->worst = now;
    }
    std::this_thread::yield();
    --s->inside;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        EXPECT_OK(musaLaunchHostFunc(stream, task, &state));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(1, state.worst);
}

BEHAVES(stream, synchronise_of_one_does_not_wait_for_another) {
  Stream held(musaStreamNonBlocking);
  Stream other(musaStreamNonBlocking);
  Gate gate;
  ASSERT_MUSA(gate.hold(held));
  Flag flag;
  EXPECT_OK(flag.set_by(other));
  EXPECT_OK(musaStreamSynchronize(other));
  EXPECT_TRUE(flag.done());
  EXPECT_FALSE(gate.expired());
}

} // namespace conformance
