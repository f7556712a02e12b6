// SPDX-License-Identifier: Apache-2.0
// Host functions and stream callbacks.
#include "support/conforms.h"

#include <thread>
#include <vector>

namespace conformance {

namespace {

struct Calls {
  musaError_t malloc_code = musaSuccess;
  musaError_t free_code = musaSuccess;
  musaError_t sync_code = musaSuccess;
  musaError_t query_code = musaSuccess;
  musaError_t launch_code = musaSuccess;
  musaError_t record_code = musaSuccess;
  musaError_t set_device_code = musaSuccess;
  void* victim = nullptr;
  musaStream_t stream = nullptr;
  musaEvent_t event = nullptr;
};

void call_everything(void* argument) {
  auto* calls = static_cast<Calls*>(argument);
  void* pointer = nullptr;
  calls->malloc_code = musaMalloc(&pointer, 16);
  if (calls->malloc_code != musaErrorNotPermitted) {
    return; // a runtime that lets calls in would wait for itself below
  }
  calls->free_code = musaFree(calls->victim);
  calls->sync_code = musaDeviceSynchronize();
  calls->query_code = musaStreamQuery(calls->stream);
  calls->launch_code = musaLaunchHostFunc(calls->stream, [](void*) {}, nullptr);
  calls->record_code = musaEventRecord(calls->event, calls->stream);
  calls->set_device_code = musaSetDevice(0);
}

} // namespace

CONFORMS(musaLaunchHostFunc, success, runs_in_order_off_the_caller) {
  Stream stream(musaStreamNonBlocking);
  struct State {
    std::vector<int> order;
    std::thread::id thread;
  } state;
  struct Item {
    State* state;
    int number;
  };
  std::vector<Item> items;
  for (int i = 0; i < 100; ++i) {
    items.push_back({&state, i});
  }
  for (Item& item : items) {
    EXPECT_OK(musaLaunchHostFunc(
        stream,
        [](void* argument) {
          auto* i = static_cast<Item*>(argument);
          i->state->order.push_back(i->number);
          i->state->thread = std::this_thread::get_id();
        },
        &item));
  }
  EXPECT_OK(musaStreamSynchronize(stream));
  ASSERT_EQ(100U, state.order.size());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(i, state.order[static_cast<std::size_t>(i)]);
  }
  EXPECT_NE(std::this_thread::get_id(), state.thread);
}

CONFORMS(musaLaunchHostFunc, null, function_is_invalid_value) {
  Stream stream;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaLaunchHostFunc(stream, nullptr, nullptr));
}
COVERS(
    musaLaunchHostFunc,
    InvalidValue,
    musaLaunchHostFunc,
    null_function_is_invalid_value)

CONFORMS(musaLaunchHostFunc, InvalidResourceHandle, freed_stream) {
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaLaunchHostFunc(freed_stream(), [](void*) {}, nullptr));
}

CONFORMS(musaLaunchHostFunc, NotPermitted, musa_calls_inside) {
  Stream stream(musaStreamNonBlocking);
  Event event;
  const Buffer buffer(64);
  Calls calls;
  calls.victim = buffer.get();
  calls.stream = stream;
  calls.event = event;
  EXPECT_OK(musaLaunchHostFunc(stream, &call_everything, &calls));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_MUSA(musaErrorNotPermitted, calls.malloc_code);
  EXPECT_MUSA(musaErrorNotPermitted, calls.free_code);
  EXPECT_MUSA(musaErrorNotPermitted, calls.sync_code);
  EXPECT_MUSA(musaErrorNotPermitted, calls.query_code);
  EXPECT_MUSA(musaErrorNotPermitted, calls.launch_code);
  EXPECT_MUSA(musaErrorNotPermitted, calls.record_code);
  EXPECT_MUSA(musaErrorNotPermitted, calls.set_device_code);
  EXPECT_MUSA(musaSuccess, musaGetLastError());
  EXPECT_OK(musaStreamSynchronize(stream));
}

CONFORMS(musaStreamAddCallback, success, is_told_stream_and_status) {
  Stream stream(musaStreamNonBlocking);
  struct Seen {
    musaStream_t stream = nullptr;
    musaError_t status = musaErrorUnknown;
    int calls = 0;
  } seen;
  EXPECT_OK(musaStreamAddCallback(
      stream,
      [](musaStream_t which, musaError_t status, void* argument) {
        auto* s = static_cast<Seen*>(argument);
        s->stream = which;
        s->status = status;
        ++s->calls;
      },
      &seen,
      0));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(1, seen.calls);
  EXPECT_EQ(static_cast<musaStream_t>(stream), seen.stream);
  EXPECT_MUSA(musaSuccess, seen.status);
}

CONFORMS(musaStreamAddCallback, null, function_is_invalid_value) {
  Stream stream;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaStreamAddCallback(stream, nullptr, nullptr, 0));
}

CONFORMS(musaStreamAddCallback, InvalidValue, unknown_flags) {
  Stream stream;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaStreamAddCallback(
          stream,
          [](musaStream_t, musaError_t, void*) {},
          nullptr,
          1));
}

CONFORMS(musaStreamAddCallback, InvalidResourceHandle, freed_stream) {
  EXPECT_FAILS(
      musaErrorInvalidResourceHandle,
      musaStreamAddCallback(
          freed_stream(),
          [](musaStream_t, musaError_t, void*) {},
          nullptr,
          0));
}

BEHAVES(host_function, on_an_idle_stream_never_runs_on_the_caller) {
  Stream stream(musaStreamNonBlocking);
  for (int i = 0; i < 20; ++i) {
    std::thread::id ran;
    EXPECT_OK(musaLaunchHostFunc(
        stream,
        [](void* id) {
          *static_cast<std::thread::id*>(id) = std::this_thread::get_id();
        },
        &ran));
    EXPECT_OK(musaStreamSynchronize(stream));
    EXPECT_NE(std::this_thread::get_id(), ran);
    EXPECT_NE(std::thread::id(), ran);
  }
}

} // namespace conformance
