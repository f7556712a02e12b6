// SPDX-License-Identifier: Apache-2.0
// Captures and graphs are CUDA's; what it leaves open is checked before.
#include "toolkit/engine/cuda/graph_runtime.h"

#include "toolkit/engine/cuda/check.h"
#include "toolkit/engine/cuda/stream.h"

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

namespace musa_standin::engine::cuda {
namespace {

// Modes, states, kinds of nodes and flags have the numbers of CUDA's.
static_assert(
    static_cast<int>(musaStreamCaptureModeGlobal) ==
        static_cast<int>(cudaStreamCaptureModeGlobal) &&
    static_cast<int>(musaStreamCaptureModeThreadLocal) ==
        static_cast<int>(cudaStreamCaptureModeThreadLocal) &&
    static_cast<int>(musaStreamCaptureModeRelaxed) ==
        static_cast<int>(cudaStreamCaptureModeRelaxed));
static_assert(
    static_cast<int>(musaStreamCaptureStatusNone) ==
        static_cast<int>(cudaStreamCaptureStatusNone) &&
    static_cast<int>(musaStreamCaptureStatusActive) ==
        static_cast<int>(cudaStreamCaptureStatusActive) &&
    static_cast<int>(musaStreamCaptureStatusInvalidated) ==
        static_cast<int>(cudaStreamCaptureStatusInvalidated));
static_assert(
    static_cast<int>(musaGraphNodeTypeKernel) ==
        static_cast<int>(cudaGraphNodeTypeKernel) &&
    static_cast<int>(musaGraphNodeTypeMemcpy) ==
        static_cast<int>(cudaGraphNodeTypeMemcpy) &&
    static_cast<int>(musaGraphNodeTypeMemset) ==
        static_cast<int>(cudaGraphNodeTypeMemset) &&
    static_cast<int>(musaGraphNodeTypeHost) ==
        static_cast<int>(cudaGraphNodeTypeHost) &&
    static_cast<int>(musaGraphNodeTypeGraph) ==
        static_cast<int>(cudaGraphNodeTypeGraph) &&
    static_cast<int>(musaGraphNodeTypeEventRecord) ==
        static_cast<int>(cudaGraphNodeTypeEventRecord));
static_assert(
    static_cast<unsigned>(musaGraphInstantiateFlagAutoFreeOnLaunch) ==
        static_cast<unsigned>(cudaGraphInstantiateFlagAutoFreeOnLaunch) &&
    static_cast<unsigned>(musaGraphDebugDotFlagsVerbose) ==
        static_cast<unsigned>(cudaGraphDebugDotFlagsVerbose));

// Streams that captures began on.
struct Origins {
  std::mutex mutex;
  std::set<cudaStream_t> streams;
  std::atomic<bool> any{false};

  void add(cudaStream_t stream) {
    const std::lock_guard<std::mutex> lock(mutex);
    streams.insert(stream);
    any.store(true);
  }
  void remove(cudaStream_t stream) {
    const std::lock_guard<std::mutex> lock(mutex);
    streams.erase(stream);
    any.store(!streams.empty());
  }
};

Origins& origins() {
  static auto* const instance = new Origins; // outlives every thread
  return *instance;
}

cudaGraph_t native(musaGraph_t graph) {
  return reinterpret_cast<cudaGraph_t>(graph);
}
cudaGraphExec_t native(musaGraphExec_t exec) {
  return reinterpret_cast<cudaGraphExec_t>(exec);
}
cudaStreamCaptureMode native(musaStreamCaptureMode mode) {
  return static_cast<cudaStreamCaptureMode>(mode);
}

struct Info {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  size_t count = 0;
};

Info info(cudaStream_t stream) {
  Info out;
#if CUDART_VERSION >= 13000
  check(cudaStreamGetCaptureInfo(
      stream,
      &out.status,
      &out.id,
      &out.graph,
      &out.dependencies,
      nullptr,
      &out.count));
#else
  check(cudaStreamGetCaptureInfo_v2(
      stream,
      &out.status,
      &out.id,
      &out.graph,
      &out.dependencies,
      &out.count));
#endif
  return out;
}

} // namespace

bool is_captured(cudaStream_t stream) {
  auto status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

bool captures_are_open() noexcept {
  return origins().any.load();
}

void leave_capture(cudaStream_t stream) noexcept {
  auto status = cudaStreamCaptureStatusNone;
  ignore(cudaStreamIsCapturing(stream, &status));
  origins().remove(stream); // a broken context does not say what it captures
  if (status != cudaStreamCaptureStatusNone) {
    cudaGraph_t graph = nullptr;
    ignore(cudaStreamEndCapture(stream, &graph));
    if (graph != nullptr) {
      ignore(cudaGraphDestroy(graph));
    }
  }
}

void GraphRuntime::begin_capture(
    engine::Stream& stream,
    musaStreamCaptureMode mode) {
  const cudaStream_t at = cuda::native(stream);
  if (at == cudaStreamLegacy) {
    throw Error(
        musaErrorStreamCaptureUnsupported,
        "the legacy default stream cannot be captured");
  }
  if (is_captured(at)) {
    throw Error(musaErrorIllegalState, "the stream is captured already");
  }
  check(cudaStreamBeginCapture(at, native(mode)));
  origins().add(at);
}

musaGraph_t GraphRuntime::end_capture(engine::Stream& stream) {
  const cudaStream_t at = cuda::native(stream);
  if (!is_captured(at)) {
    throw Error(musaErrorIllegalState, "the stream is not captured");
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t result = cudaStreamEndCapture(at, &graph);
  if (result != cudaErrorStreamCaptureWrongThread) {
    origins().remove(at); // else it goes on
  }
  check(result);
  return reinterpret_cast<musaGraph_t>(graph);
}

CaptureInfo GraphRuntime::capture_info(engine::Stream& stream) {
  const Info found = info(cuda::native(stream));
  CaptureInfo out;
  out.status = static_cast<musaStreamCaptureStatus>(found.status);
  if (found.status != cudaStreamCaptureStatusActive) {
    return out;
  }
  thread_local std::vector<musaGraphNode_t> dependencies;
  dependencies.clear();
  for (size_t i = 0; i < found.count; ++i) {
    dependencies.push_back(
        reinterpret_cast<musaGraphNode_t>(found.dependencies[i]));
  }
  out.id = found.id;
  out.graph = reinterpret_cast<musaGraph_t>(found.graph);
  out.dependencies = dependencies.data();
  out.dependency_count = dependencies.size();
  return out;
}

musaStreamCaptureMode GraphRuntime::exchange_capture_mode(
    musaStreamCaptureMode mode) {
  cudaStreamCaptureMode exchanged = native(mode);
  check(cudaThreadExchangeStreamCaptureMode(&exchanged));
  return static_cast<musaStreamCaptureMode>(exchanged);
}

musaGraph_t GraphRuntime::create_graph() {
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0));
  return reinterpret_cast<musaGraph_t>(graph);
}

void GraphRuntime::destroy_graph(musaGraph_t graph) {
  check(cudaGraphDestroy(native(graph)));
}

size_t GraphRuntime::graph_nodes(
    musaGraph_t graph,
    musaGraphNode_t* nodes,
    size_t room) {
  size_t all = 0;
  check(cudaGraphGetNodes(native(graph), nullptr, &all));
  if (nodes != nullptr && room != 0) {
    size_t filled = room;
    check(cudaGraphGetNodes(
        native(graph),
        reinterpret_cast<cudaGraphNode_t*>(nodes),
        &filled));
  }
  return all;
}

musaGraphNodeType GraphRuntime::graph_node_type(musaGraphNode_t node) {
  auto type = cudaGraphNodeTypeEmpty;
  check(cudaGraphNodeGetType(reinterpret_cast<cudaGraphNode_t>(node), &type));
  if (type > cudaGraphNodeTypeEventRecord) {
    throw Error(
        musaErrorNotSupported,
        "the graph has a node of a kind that MUSA does not name");
  }
  return static_cast<musaGraphNodeType>(type);
}

void GraphRuntime::print_graph(
    musaGraph_t graph,
    const char* path,
    unsigned flags) {
  check(cudaGraphDebugDotPrint(native(graph), path, flags));
}

musaGraphExec_t GraphRuntime::instantiate_graph(
    musaGraph_t graph,
    unsigned long long flags) {
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, native(graph), flags));
  return reinterpret_cast<musaGraphExec_t>(exec);
}

void GraphRuntime::destroy_graph_exec(musaGraphExec_t exec) {
  check(cudaGraphExecDestroy(native(exec)));
}

void GraphRuntime::launch_graph(musaGraphExec_t exec, engine::Stream& stream) {
  check(cudaGraphLaunch(native(exec), cuda::native(stream)));
}

} // namespace musa_standin::engine::cuda
