// SPDX-License-Identifier: Apache-2.0
// Graphs: recorded tasks with what each comes after, and their runnable form.
#pragma once

#include "toolkit/engine/cpu/stream.h"

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace musa_standin::engine::cpu {

// Tasks in an order that keeps every dependency.
using Program = std::vector<std::shared_ptr<const Work>>;

struct Node final : public ::MUgraphNode_st {
  musaGraphNodeType type = musaGraphNodeTypeKernel;
  std::string name;
  // One task; a launch that was captured has those of its graph.
  Program tasks;
  std::vector<Node*> after;
};

class Graph final : public ::MUgraph_st {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Node* add(Node node);
  [[nodiscard]] const std::deque<Node>& nodes() const { return nodes_; }
  // Is every node one of these, or before one?
  [[nodiscard]] bool ends_with(const std::vector<Node*>& last) const;
  // Nodes are added behind all that they come after.
  [[nodiscard]] Program program() const;

  // While streams record into it.
  bool in_capture = false;

 private:
  std::deque<Node> nodes_; // stays where it is
};

// Lives without the graph that it was made from.
class GraphExec final : public ::MUgraphExec_st {
 public:
  explicit GraphExec(Program program);
  ~GraphExec();
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  // Behind the stream's earlier work and this object's earlier launch.
  void launch(Stream& stream);
  [[nodiscard]] const Program& program() const { return program_; }

 private:
  const Program program_;
  std::mutex mutex_;
  Mark last_;
};

// InvalidValue for a handle that is none, or was destroyed.
Graph& find_graph(musaGraph_t handle);
GraphExec& find_graph_exec(musaGraphExec_t handle);
Node& find_graph_node(musaGraphNode_t handle);

// For graphviz; OperatingSystem if the file cannot be written.
void write_dot(const Graph& graph, const char* path);

} // namespace musa_standin::engine::cpu
