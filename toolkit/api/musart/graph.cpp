// SPDX-License-Identifier: Apache-2.0
// Graphs.
#include "toolkit/api/call.h"

#include "toolkit/include/musa_runtime_api.h"

#include <algorithm>

using namespace musa_standin::api; // NOLINT(google-build-using-namespace)
namespace engine = musa_standin::engine;
using engine::runtime;

namespace {

void instantiate(
    musaGraphExec_t* exec,
    musaGraph_t graph,
    unsigned long long flags) {
  require(exec != nullptr, "pGraphExec is null");
  require(graph != nullptr, "graph is null");
  require(
      (flags &
       ~static_cast<unsigned long long>(
           musaGraphInstantiateFlagAutoFreeOnLaunch)) == 0,
      "a flag does not exist");
  *exec = runtime().instantiate_graph(graph, flags);
}

} // namespace

musaError_t musaGraphCreate(musaGraph_t* pGraph, unsigned int flags) {
  return api_call("musaGraphCreate", [&] {
    require(pGraph != nullptr, "pGraph is null");
    require(flags == 0, "flags must be 0");
    *pGraph = runtime().create_graph();
  });
}

musaError_t musaGraphInstantiate(
    musaGraphExec_t* pGraphExec,
    musaGraph_t graph,
    unsigned long long flags) {
  return api_call("musaGraphInstantiate", [&] {
    instantiate(pGraphExec, graph, flags);
  });
}

musaError_t musaGraphInstantiateWithFlags(
    musaGraphExec_t* pGraphExec,
    musaGraph_t graph,
    unsigned long long flags) {
  return api_call("musaGraphInstantiateWithFlags", [&] {
    instantiate(pGraphExec, graph, flags);
  });
}

musaError_t musaGraphLaunch(musaGraphExec_t graphExec, musaStream_t stream) {
  return api_call("musaGraphLaunch", [&] {
    require(graphExec != nullptr, "graphExec is null");
    runtime().launch_graph(graphExec, stream_of(stream));
  });
}

musaError_t musaGraphExecDestroy(musaGraphExec_t graphExec) {
  return api_call("musaGraphExecDestroy", [&] {
    require(graphExec != nullptr, "graphExec is null");
    runtime().destroy_graph_exec(graphExec);
  });
}

musaError_t musaGraphDestroy(musaGraph_t graph) {
  return api_call("musaGraphDestroy", [&] {
    require(graph != nullptr, "graph is null");
    runtime().destroy_graph(graph);
  });
}

musaError_t
musaGraphGetNodes(musaGraph_t graph, musaGraphNode_t* nodes, size_t* numNodes) {
  return api_call("musaGraphGetNodes", [&] {
    require(graph != nullptr, "graph is null");
    require(numNodes != nullptr, "numNodes is null");
    const size_t room = nodes != nullptr ? *numNodes : 0;
    const size_t all = runtime().graph_nodes(graph, nodes, room);
    if (nodes == nullptr) {
      *numNodes = all;
      return;
    }
    *numNodes = std::min(all, room);
    std::fill(nodes + *numNodes, nodes + room, nullptr);
  });
}

musaError_t musaGraphNodeGetType(
    musaGraphNode_t node,
    musaGraphNodeType* pType) {
  return api_call("musaGraphNodeGetType", [&] {
    require(node != nullptr, "node is null");
    require(pType != nullptr, "pType is null");
    *pType = runtime().graph_node_type(node);
  });
}

musaError_t musaGraphDebugDotPrint(
    musaGraph_t graph,
    const char* path,
    unsigned int flags) {
  return api_call("musaGraphDebugDotPrint", [&] {
    require(graph != nullptr, "graph is null");
    require(path != nullptr, "path is null");
    runtime().print_graph(graph, path, flags);
  });
}
