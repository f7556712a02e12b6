// SPDX-License-Identifier: Apache-2.0
// The engine interface on top of captures and graphs.
#include "toolkit/engine/cpu/graph_runtime.h"

#include "toolkit/engine/cpu/capture.h"

namespace musa_standin::engine::cpu {
namespace {

Stream& own(engine::Stream& stream) {
  return static_cast<Stream&>(stream);
}

} // namespace

void GraphRuntime::begin_capture(
    engine::Stream& stream,
    musaStreamCaptureMode mode) {
  cpu::begin_capture(own(stream), mode);
}

musaGraph_t GraphRuntime::end_capture(engine::Stream& stream) {
  return cpu::end_capture(own(stream));
}

CaptureInfo GraphRuntime::capture_info(engine::Stream& stream) {
  return cpu::capture_info(own(stream));
}

musaStreamCaptureMode GraphRuntime::exchange_capture_mode(
    musaStreamCaptureMode mode) {
  return cpu::exchange_capture_mode(mode);
}

musaGraph_t GraphRuntime::create_graph() {
  return new Graph;
}

void GraphRuntime::destroy_graph(musaGraph_t handle) {
  Graph& graph = find_graph(handle);
  if (graph.in_capture) {
    throw Error(musaErrorInvalidValue, "the graph is still recorded into");
  }
  delete &graph;
}

size_t GraphRuntime::graph_nodes(
    musaGraph_t handle,
    musaGraphNode_t* nodes,
    size_t room) {
  const Graph& graph = find_graph(handle);
  size_t at = 0;
  for (const Node& node : graph.nodes()) {
    if (nodes == nullptr || at == room) {
      break;
    }
    nodes[at++] = const_cast<Node*>(&node);
  }
  return graph.nodes().size();
}

musaGraphNodeType GraphRuntime::graph_node_type(musaGraphNode_t node) {
  return find_graph_node(node).type;
}

void GraphRuntime::print_graph(
    musaGraph_t graph,
    const char* path,
    unsigned /*flags*/) {
  write_dot(find_graph(graph), path);
}

musaGraphExec_t GraphRuntime::instantiate_graph(
    musaGraph_t handle,
    unsigned long long /*flags*/) {
  const Graph& graph = find_graph(handle);
  if (graph.in_capture) {
    throw Error(musaErrorInvalidValue, "the graph is still recorded into");
  }
  return new GraphExec(graph.program());
}

void GraphRuntime::destroy_graph_exec(musaGraphExec_t exec) {
  // Launches that run have their own copy of the tasks.
  delete &find_graph_exec(exec);
}

void GraphRuntime::launch_graph(
    musaGraphExec_t handle,
    engine::Stream& stream) {
  GraphExec& exec = find_graph_exec(handle);
  refuse_capture(own(stream), "the launch of a graph cannot be captured");
  exec.launch(own(stream));
}

} // namespace musa_standin::engine::cpu
