// SPDX-License-Identifier: Apache-2.0
// What the default streams wait for, and what waits for them.
#include "support/conforms.h"

#include <chrono>
#include <thread>

namespace conformance {

namespace {

void settle() {
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

} // namespace

BEHAVES(default_stream, waits_for_blocking_streams) {
  Stream blocking;
  Gate gate;
  Flag flag;
  ASSERT_MUSA(gate.hold(blocking));
  EXPECT_OK(flag.set_by(nullptr));
  settle();
  EXPECT_FALSE(flag.done());
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(nullptr));
  gate.open();
  EXPECT_OK(musaStreamSynchronize(nullptr));
  EXPECT_TRUE(flag.done());
}

BEHAVES(default_stream, holds_blocking_streams) {
  Stream blocking;
  Gate gate;
  Flag flag;
  ASSERT_MUSA(gate.hold(nullptr));
  EXPECT_OK(flag.set_by(blocking));
  settle();
  EXPECT_FALSE(flag.done());
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(blocking));
  gate.open();
  EXPECT_OK(musaStreamSynchronize(blocking));
  EXPECT_TRUE(flag.done());
}

BEHAVES(default_stream, ignores_non_blocking_streams) {
  Stream free_running(musaStreamNonBlocking);
  Gate gate;
  Flag flag;
  ASSERT_MUSA(gate.hold(free_running));
  EXPECT_OK(flag.set_by(nullptr));
  EXPECT_OK(musaStreamSynchronize(nullptr));
  EXPECT_TRUE(flag.done());
  EXPECT_FALSE(gate.expired());
}

BEHAVES(default_stream, does_not_hold_non_blocking_streams) {
  Stream free_running(musaStreamNonBlocking);
  Gate gate;
  Flag flag;
  ASSERT_MUSA(gate.hold(nullptr));
  EXPECT_OK(flag.set_by(free_running));
  EXPECT_OK(musaStreamSynchronize(free_running));
  EXPECT_TRUE(flag.done());
  EXPECT_FALSE(gate.expired());
}

BEHAVES(default_stream, blocking_streams_do_not_hold_each_other) {
  Stream first;
  Stream second;
  Gate gate;
  Flag flag;
  ASSERT_MUSA(gate.hold(first));
  EXPECT_OK(flag.set_by(second));
  EXPECT_OK(musaStreamSynchronize(second));
  EXPECT_TRUE(flag.done());
  EXPECT_FALSE(gate.expired());
}

BEHAVES(default_stream, is_a_barrier_between_blocking_streams) {
  Stream first;
  Stream second;
  Gate gate;
  Flag middle;
  Flag last;
  ASSERT_MUSA(gate.hold(first));
  EXPECT_OK(middle.set_by(nullptr));
  EXPECT_OK(last.set_by(second));
  settle();
  EXPECT_FALSE(middle.done());
  EXPECT_FALSE(last.done());
  gate.open();
  EXPECT_OK(musaStreamSynchronize(second));
  EXPECT_TRUE(middle.done());
  EXPECT_TRUE(last.done());
}

BEHAVES(default_stream, work_of_blocking_streams_is_visible_to_it) {
  Stream blocking;
  const Buffer buffer(1 << 20);
  for (int round = 1; round < 30; ++round) {
    EXPECT_OK(musaMemsetAsync(buffer.get(), round, 1 << 20, blocking));
    unsigned char last = 0;
    EXPECT_OK(
        musaMemcpy(&last, buffer.at((1 << 20) - 1), 1, musaMemcpyDeviceToHost));
    ASSERT_EQ(round, last);
  }
}

BEHAVES(default_stream, legacy_handle_is_the_null_stream) {
  Gate gate;
  ASSERT_MUSA(gate.hold(musaStreamLegacy));
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(nullptr));
  Flag flag;
  EXPECT_OK(flag.set_by(nullptr));
  settle();
  EXPECT_FALSE(flag.done());
  gate.open();
  EXPECT_OK(musaStreamSynchronize(musaStreamLegacy));
  EXPECT_TRUE(flag.done());
}

BEHAVES(default_stream, per_thread_streams_are_apart_and_blocking) {
  Gate gate;
  ASSERT_MUSA(gate.hold(musaStreamPerThread));
  std::thread([&] {
    Flag flag;
    EXPECT_OK(flag.set_by(musaStreamPerThread));
    EXPECT_OK(musaStreamSynchronize(musaStreamPerThread));
    EXPECT_TRUE(flag.done()) << "another thread's stream was held";
  }).join();
  EXPECT_FALSE(gate.expired());
  Flag legacy;
  EXPECT_OK(legacy.set_by(nullptr));
  settle();
  EXPECT_FALSE(legacy.done()) << "the legacy stream waits for it";
  gate.open();
  EXPECT_OK(musaStreamSynchronize(nullptr));
  EXPECT_TRUE(legacy.done());
}

BEHAVES(default_stream, belongs_to_the_current_device) {
  if (device_count() < 2) {
    GTEST_SKIP() << "needs two devices";
  }
  Gate gate;
  ASSERT_MUSA(gate.hold(nullptr));
  EXPECT_OK(musaSetDevice(1));
  Flag flag;
  EXPECT_OK(flag.set_by(nullptr));
  EXPECT_OK(musaDeviceSynchronize());
  EXPECT_TRUE(flag.done());
  EXPECT_FALSE(gate.expired());
  EXPECT_OK(musaSetDevice(0));
}

BEHAVES(default_stream, stays_in_order_with_many_blocking_streams) {
  constexpr int kStreams = 8;
  Stream streams[kStreams];
  int value = 0;
  // Each task reads what its predecessor wrote; legacy tasks lie between.
  struct Step {
    int* value;
    int expected;
    bool good;
  };
  Step steps[kStreams * 8];
  int number = 0;
  for (Step& step : steps) {
    step = {&value, number, false};
    const bool legacy = number % 2 == 1;
    EXPECT_OK(musaLaunchHostFunc(
        legacy ? nullptr
               : static_cast<musaStream_t>(streams[number % kStreams]),
        [](void* argument) {
          auto* s = static_cast<Step*>(argument);
          s->good = *s->value == s->expected;
          *s->value = s->expected + 1;
        },
        &step));
    ++number;
  }
  EXPECT_OK(musaDeviceSynchronize());
  for (const Step& step : steps) {
    EXPECT_TRUE(step.good) << step.expected;
  }
}

} // namespace conformance
