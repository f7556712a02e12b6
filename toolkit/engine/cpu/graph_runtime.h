// SPDX-License-Identifier: Apache-2.0
// The engine interface of captures and graphs.
#pragma once

#include "toolkit/engine/runtime.h"

namespace musa_standin::engine::cpu {

class GraphRuntime : public Runtime {
 public:
  void begin_capture(engine::Stream& stream, musaStreamCaptureMode mode) final;
  musaGraph_t end_capture(engine::Stream& stream) final;
  CaptureInfo capture_info(engine::Stream& stream) final;
  musaStreamCaptureMode exchange_capture_mode(musaStreamCaptureMode mode) final;
  musaGraph_t create_graph() final;
  void destroy_graph(musaGraph_t graph) final;
  size_t graph_nodes(musaGraph_t graph, musaGraphNode_t* nodes, size_t room)
      final;
  musaGraphNodeType graph_node_type(musaGraphNode_t node) final;
  void print_graph(musaGraph_t graph, const char* path, unsigned flags) final;
  musaGraphExec_t instantiate_graph(musaGraph_t graph, unsigned long long flags)
      final;
  void destroy_graph_exec(musaGraphExec_t exec) final;
  void launch_graph(musaGraphExec_t exec, engine::Stream& stream) final;

 protected:
  GraphRuntime() = default;
  ~GraphRuntime() = default;
};

} // namespace musa_standin::engine::cpu
