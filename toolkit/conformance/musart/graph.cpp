// SPDX-License-Identifier: Apache-2.0
// Graphs: what a launch runs, when, and how often.
#include "support/graph.h"

#include "support/conforms.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <vector>

namespace conformance {

namespace {

musaError_t
copy_ints(void* dst, const void* src, std::size_t count, musaStream_t stream) {
  return musaMemcpyAsync(
      dst,
      src,
      count * sizeof(int),
      musaMemcpyDefault,
      stream);
}

void add_one(void* number) {
  ++*static_cast<std::atomic<int>*>(number);
}

// A graph of one memset.
musaGraph_t small_graph(const Buffer& buffer, int value) {
  Stream stream(musaStreamNonBlocking);
  return captured(stream, [&] {
    EXPECT_OK(musaMemsetAsync(buffer.get(), value, buffer.bytes(), stream));
  });
}

} // namespace

CONFORMS(musaGraphLaunch, success, replays_with_the_inputs_of_the_day) {
  constexpr std::size_t kCount = 1000;
  Stream stream(musaStreamNonBlocking);
  const Pinned in(kCount);
  const Pinned out(kCount);
  const Buffer first(kCount * sizeof(int));
  const Buffer second(kCount * sizeof(int));
  const Exec exec(captured(stream, [&] {
    EXPECT_OK(copy_ints(first.get(), in.get(), kCount, stream));
    EXPECT_OK(copy_ints(second.get(), first.get(), kCount, stream));
    EXPECT_OK(copy_ints(out.get(), second.get(), kCount, stream));
  }));
  for (int round = 1; round < 4; ++round) {
    std::fill(in.get(), in.get() + kCount, round);
    EXPECT_OK(musaGraphLaunch(exec, stream));
    EXPECT_OK(musaStreamSynchronize(stream));
    EXPECT_EQ(round, out[0]);
    EXPECT_EQ(round, out[kCount - 1]);
  }
}

CONFORMS(musaGraphLaunch, success, runs_host_functions_each_time) {
  Stream stream(musaStreamNonBlocking);
  std::atomic<int> number{0};
  const Exec exec(captured(stream, [&] {
    EXPECT_OK(musaLaunchHostFunc(stream, &add_one, &number));
    EXPECT_OK(musaLaunchHostFunc(stream, &add_one, &number));
  }));
  EXPECT_EQ(0, number.load());
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(musaGraphLaunch(exec, stream));
  }
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(6, number.load());
}

CONFORMS(musaGraphLaunch, success, works_on_other_streams) {
  const Buffer buffer(64);
  const Exec exec(small_graph(buffer, 5));
  Stream blocking;
  const musaStream_t streams[] = {blocking, nullptr, musaStreamPerThread};
  for (const musaStream_t stream : streams) {
    buffer.fill(0);
    EXPECT_OK(musaGraphLaunch(exec, stream));
    EXPECT_OK(musaStreamSynchronize(stream));
    EXPECT_EQ(5, buffer.read()[63]);
  }
}

BEHAVES(graph, launches_keep_their_place_among_other_work) {
  constexpr std::size_t kBytes = 1 << 16;
  Stream stream(musaStreamNonBlocking);
  const Buffer source(kBytes);
  const Buffer target(kBytes);
  std::vector<Buffer> seen;
  const Exec exec(captured(stream, [&] {
    EXPECT_OK(musaMemcpyAsync(
        target.get(),
        source.get(),
        kBytes,
        musaMemcpyDeviceToDevice,
        stream));
  }));
  for (int round = 0; round < 20; ++round) {
    seen.emplace_back(kBytes);
  }
  for (int round = 0; round < 20; ++round) {
    EXPECT_OK(musaMemsetAsync(source.get(), round, kBytes, stream));
    EXPECT_OK(musaGraphLaunch(exec, stream));
    EXPECT_OK(musaMemsetAsync(source.get(), 99, kBytes, stream));
    EXPECT_OK(musaMemcpyAsync(
        seen[static_cast<std::size_t>(round)].get(),
        target.get(),
        kBytes,
        musaMemcpyDeviceToDevice,
        stream));
  }
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(round, seen[static_cast<std::size_t>(round)].read()[kBytes - 1]);
  }
}

BEHAVES(graph, launch_waits_for_events_and_the_default_stream) {
  Stream free_running(musaStreamNonBlocking);
  Stream blocking;
  Flag flag;
  const Exec exec(
      captured(free_running, [&] { EXPECT_OK(flag.set_by(free_running)); }));
  Gate gate;
  ASSERT_MUSA(gate.hold(nullptr));
  EXPECT_OK(musaGraphLaunch(exec, blocking));
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(blocking));
  EXPECT_FALSE(flag.done());
  gate.open();
  EXPECT_OK(musaStreamSynchronize(blocking));
  EXPECT_TRUE(flag.done());
}

BEHAVES(graph, two_launches_of_one_graph_do_not_overlap) {
  struct Busy {
    std::atomic<int> inside{0};
    std::atomic<bool> overlapped{false};
  } busy;
  Stream recorder(musaStreamNonBlocking);
  const Exec exec(captured(recorder, [&] {
    EXPECT_OK(musaLaunchHostFunc(
        recorder,
        [](void* argument) {
          auto* b = static_cast<Busy*>(argument);
          if (b->inside.fetch_add(1) != 0) {
            b->overlapped = true;
          }
        },
        &busy));
    EXPECT_OK(musaLaunchHostFunc(
        recorder,
        [](void* argument) { static_cast<Busy*>(argument)->inside--; },
        &busy));
  }));
  Stream first(musaStreamNonBlocking);
  Stream second(musaStreamNonBlocking);
  for (int i = 0; i < 50; ++i) {
    EXPECT_OK(musaGraphLaunch(exec, first));
    EXPECT_OK(musaGraphLaunch(exec, second));
  }
  EXPECT_OK(musaDeviceSynchronize());
  EXPECT_FALSE(busy.overlapped);
}

BEHAVES(graph, branches_join_before_what_follows) {
  constexpr std::size_t kBytes = 1 << 18;
  Stream left(musaStreamNonBlocking);
  Stream right(musaStreamNonBlocking);
  Event fork(musaEventDisableTiming);
  Event join(musaEventDisableTiming);
  const Buffer source(kBytes);
  const Buffer both(2 * kBytes);
  const Buffer out(2 * kBytes);
  const Exec exec(captured(left, [&] {
    EXPECT_OK(musaEventRecord(fork, left));
    EXPECT_OK(musaStreamWaitEvent(right, fork, 0));
    EXPECT_EQ(musaStreamCaptureStatusActive, capture_status(right));
    EXPECT_OK(musaMemcpyAsync(
        both.get(),
        source.get(),
        kBytes,
        musaMemcpyDeviceToDevice,
        left));
    EXPECT_OK(musaMemcpyAsync(
        both.at(kBytes),
        source.get(),
        kBytes,
        musaMemcpyDeviceToDevice,
        right));
    EXPECT_OK(musaEventRecord(join, right));
    EXPECT_OK(musaStreamWaitEvent(left, join, 0));
    EXPECT_OK(musaMemcpyAsync(
        out.get(),
        both.get(),
        2 * kBytes,
        musaMemcpyDeviceToDevice,
        left));
  }));
  EXPECT_EQ(musaStreamCaptureStatusNone, capture_status(right));
  for (int round = 1; round < 10; ++round) {
    EXPECT_OK(musaMemsetAsync(source.get(), round, kBytes, left));
    EXPECT_OK(musaGraphLaunch(exec, left));
    EXPECT_OK(musaStreamSynchronize(left));
    const std::vector<unsigned char> bytes = out.read();
    EXPECT_EQ(round, bytes.front());
    EXPECT_EQ(round, bytes.back());
  }
}

BEHAVES(graph, may_be_larger_than_a_queue) {
  Stream stream(musaStreamNonBlocking);
  std::atomic<int> number{0};
  constexpr int kNodes = 5000;
  const Exec exec(captured(stream, [&] {
    for (int i = 0; i < kNodes; ++i) {
      ASSERT_MUSA(musaLaunchHostFunc(stream, &add_one, &number));
    }
  }));
  EXPECT_OK(musaGraphLaunch(exec, stream));
  EXPECT_OK(musaGraphLaunch(exec, stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(2 * kNodes, number.load());
}

CONFORMS(musaGraphLaunch, StreamCaptureUnsupported, in_a_capture) {
  Stream stream(musaStreamNonBlocking);
  const Buffer buffer(64);
  const Exec inner(small_graph(buffer, 7));
  Capture capture(stream);
  EXPECT_FAILS(
      musaErrorStreamCaptureUnsupported,
      musaGraphLaunch(inner, stream));
  capture.expect_invalid();
}

CONFORMS(musaGraphLaunch, null, is_invalid_value) {
  Stream stream;
  EXPECT_FAILS(musaErrorInvalidValue, musaGraphLaunch(nullptr, stream));
}
COVERS(musaGraphLaunch, InvalidValue, musaGraphLaunch, null_is_invalid_value)

CONFORMS(musaGraphLaunch, InvalidResourceHandle, on_a_destroyed_stream) {
  const Buffer buffer(64);
  const Exec exec(small_graph(buffer, 1));
  const musaStream_t stream = freed_stream();
  EXPECT_FAILS(musaErrorInvalidResourceHandle, musaGraphLaunch(exec, stream));
}

CONFORMS(musaGraphCreate, success, makes_an_empty_graph) {
  musaGraph_t graph = nullptr;
  ASSERT_MUSA(musaGraphCreate(&graph, 0));
  EXPECT_EQ(0U, node_count(graph));
  const Exec exec(graph);
  Stream stream;
  EXPECT_OK(musaGraphLaunch(exec, stream));
  EXPECT_OK(musaStreamSynchronize(stream));
}

CONFORMS(musaGraphCreate, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaGraphCreate(nullptr, 0));
}
COVERS(musaGraphCreate, InvalidValue, musaGraphCreate, null_is_invalid_value)

CONFORMS(musaGraphDestroy, success, spares_what_was_instantiated) {
  Stream stream; // after the fills, which use the default stream
  const Buffer buffer(64);
  buffer.fill(0);
  musaGraph_t graph = small_graph(buffer, 4);
  musaGraphExec_t exec = nullptr;
  ASSERT_MUSA(musaGraphInstantiateWithFlags(&exec, graph, 0));
  EXPECT_OK(musaGraphDestroy(graph));
  EXPECT_OK(musaGraphLaunch(exec, stream));
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(4, buffer.read()[0]);
  EXPECT_OK(musaGraphExecDestroy(exec));
}

CONFORMS(musaGraphDestroy, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaGraphDestroy(nullptr));
}
COVERS(musaGraphDestroy, InvalidValue, musaGraphDestroy, null_is_invalid_value)

CONFORMS(musaGraphInstantiate, success, both_forms_make_one) {
  Stream stream; // after the fills, which use the default stream
  const Buffer buffer(64);
  buffer.fill(0);
  musaGraph_t graph = small_graph(buffer, 6);
  musaGraphExec_t three = nullptr;
  musaGraphExec_t five = nullptr;
  ASSERT_MUSA(musaGraphInstantiate(&five, graph, nullptr, nullptr, 0));
#if CONFORMANCE_PORTABLE
  ASSERT_MUSA(musaGraphInstantiate(
      &three,
      graph,
      static_cast<unsigned long long>(
          musaGraphInstantiateFlagAutoFreeOnLaunch)));
#else
  ASSERT_MUSA(musaGraphInstantiateWithFlags(&three, graph, 0));
#endif
  for (musaGraphExec_t exec : {three, five}) {
    buffer.fill(0);
    EXPECT_OK(musaGraphLaunch(exec, stream));
    EXPECT_OK(musaStreamSynchronize(stream));
    EXPECT_EQ(6, buffer.read()[0]);
    EXPECT_OK(musaGraphExecDestroy(exec));
  }
  EXPECT_OK(musaGraphDestroy(graph));
}

CONFORMS(musaGraphInstantiate, null, is_invalid_value) {
  musaGraphExec_t exec = nullptr;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaGraphInstantiate(&exec, nullptr, nullptr, nullptr, 0));
}
COVERS(
    musaGraphInstantiate,
    InvalidValue,
    musaGraphInstantiate,
    null_is_invalid_value)

CONFORMS(musaGraphInstantiateWithFlags, success, makes_several_of_one_graph) {
  Stream stream; // after the fills, which use the default stream
  const Buffer buffer(64);
  musaGraph_t graph = small_graph(buffer, 8);
  for (int i = 0; i < 3; ++i) {
    buffer.fill(0);
    musaGraphExec_t exec = nullptr;
    ASSERT_MUSA(musaGraphInstantiateWithFlags(&exec, graph, 0));
    EXPECT_OK(musaGraphLaunch(exec, stream));
    EXPECT_OK(musaStreamSynchronize(stream));
    EXPECT_EQ(8, buffer.read()[0]);
    EXPECT_OK(musaGraphExecDestroy(exec));
  }
  EXPECT_OK(musaGraphDestroy(graph));
}

CONFORMS(musaGraphInstantiateWithFlags, null, is_invalid_value) {
  musaGraphExec_t exec = nullptr;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaGraphInstantiateWithFlags(&exec, nullptr, 0));
}

CONFORMS(musaGraphInstantiateWithFlags, InvalidValue, for_an_unknown_flag) {
  const Buffer buffer(64);
  musaGraph_t graph = small_graph(buffer, 8);
  musaGraphExec_t exec = nullptr;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaGraphInstantiateWithFlags(&exec, graph, 1ULL << 20));
  EXPECT_OK(musaGraphDestroy(graph));
}

CONFORMS(musaGraphExecDestroy, success, lets_a_running_launch_end) {
  Stream stream(musaStreamNonBlocking);
  std::atomic<int> number{0};
  Exec exec(captured(stream, [&] {
    for (int i = 0; i < 10; ++i) {
      EXPECT_OK(musaLaunchHostFunc(stream, &add_one, &number));
    }
  }));
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_OK(musaGraphLaunch(exec, stream));
  EXPECT_OK(musaGraphExecDestroy(exec.release()));
  gate.open();
  EXPECT_OK(musaStreamSynchronize(stream));
  EXPECT_EQ(10, number.load());
}

CONFORMS(musaGraphExecDestroy, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaGraphExecDestroy(nullptr));
}
COVERS(
    musaGraphExecDestroy,
    InvalidValue,
    musaGraphExecDestroy,
    null_is_invalid_value)

CONFORMS(musaGraphGetNodes, success, counts_and_lists) {
  Stream stream(musaStreamNonBlocking);
  const Buffer buffer(64);
  musaGraph_t graph = captured(stream, [&] {
    for (int i = 0; i < 3; ++i) {
      EXPECT_OK(musaMemsetAsync(buffer.get(), i, 64, stream));
    }
  });
  EXPECT_EQ(3U, node_count(graph));
  musaGraphNode_t nodes[5];
  std::fill(nodes, nodes + 5, reinterpret_cast<musaGraphNode_t>(&graph));
  std::size_t count = 5;
  EXPECT_OK(musaGraphGetNodes(graph, nodes, &count));
  EXPECT_EQ(3U, count);
  EXPECT_NE(nullptr, nodes[2]);
  EXPECT_EQ(nullptr, nodes[3]);
  EXPECT_EQ(nullptr, nodes[4]);
  EXPECT_OK(musaGraphDestroy(graph));
}

CONFORMS(musaGraphGetNodes, zero, lists_none) {
  const Buffer buffer(64);
  musaGraph_t graph = small_graph(buffer, 1);
  musaGraphNode_t node = nullptr;
  std::size_t count = 0;
  EXPECT_OK(musaGraphGetNodes(graph, &node, &count));
  EXPECT_EQ(nullptr, node);
  EXPECT_OK(musaGraphDestroy(graph));
}

CONFORMS(musaGraphGetNodes, null, is_invalid_value) {
  std::size_t count = 0;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaGraphGetNodes(nullptr, nullptr, &count));
  musaGraph_t graph = nullptr;
  ASSERT_MUSA(musaGraphCreate(&graph, 0));
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaGraphGetNodes(graph, nullptr, nullptr));
  EXPECT_OK(musaGraphDestroy(graph));
}
COVERS(
    musaGraphGetNodes,
    InvalidValue,
    musaGraphGetNodes,
    null_is_invalid_value)

CONFORMS(musaGraphNodeGetType, success, tells_copies_fills_and_host_functions) {
  Stream stream(musaStreamNonBlocking);
  const Buffer from(64);
  const Buffer to(64);
  std::atomic<int> number{0};
  musaGraph_t graph = captured(stream, [&] {
    EXPECT_OK(musaMemsetAsync(from.get(), 1, 64, stream));
    EXPECT_OK(musaMemcpyAsync(
        to.get(),
        from.get(),
        64,
        musaMemcpyDeviceToDevice,
        stream));
    EXPECT_OK(musaLaunchHostFunc(stream, &add_one, &number));
  });
  musaGraphNode_t nodes[3] = {};
  std::size_t count = 3;
  EXPECT_OK(musaGraphGetNodes(graph, nodes, &count));
  std::vector<int> types;
  for (const musaGraphNode_t node : nodes) {
    auto type = musaGraphNodeTypeEmpty;
    EXPECT_OK(musaGraphNodeGetType(node, &type));
    types.push_back(type);
  }
  std::sort(types.begin(), types.end());
  EXPECT_EQ(
      (std::vector<int>{
          musaGraphNodeTypeMemcpy,
          musaGraphNodeTypeMemset,
          musaGraphNodeTypeHost}),
      types);
  EXPECT_OK(musaGraphDestroy(graph));
}

CONFORMS(musaGraphNodeGetType, null, is_invalid_value) {
  auto type = musaGraphNodeTypeEmpty;
  EXPECT_FAILS(musaErrorInvalidValue, musaGraphNodeGetType(nullptr, &type));
}
COVERS(
    musaGraphNodeGetType,
    InvalidValue,
    musaGraphNodeGetType,
    null_is_invalid_value)

CONFORMS(musaGraphDebugDotPrint, success, writes_a_graph_for_graphviz) {
  const Buffer buffer(64);
  musaGraph_t graph = small_graph(buffer, 1);
  const std::string path = testing::TempDir() + "conformance_graph.dot";
  EXPECT_OK(musaGraphDebugDotPrint(
      graph,
      path.c_str(),
      musaGraphDebugDotFlagsVerbose));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_NE(std::string::npos, text.str().find("digraph")) << text.str();
  std::remove(path.c_str());
  EXPECT_OK(musaGraphDestroy(graph));
}

CONFORMS(musaGraphDebugDotPrint, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaGraphDebugDotPrint(nullptr, "unused.dot", 0));
}
COVERS(
    musaGraphDebugDotPrint,
    InvalidValue,
    musaGraphDebugDotPrint,
    null_is_invalid_value)

} // namespace conformance
