// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes, instantiation, launch, and the handles that are alive.
#include "toolkit/engine/cpu/graph.h"

#include "toolkit/engine/fault.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unordered_set>
#include <utility>

namespace musa_standin::engine::cpu {
namespace {

using Lock = std::lock_guard<std::mutex>;

struct LiveHandles {
  std::mutex mutex;
  std::unordered_set<const void*> handles;
};

LiveHandles& live() {
  static auto* const instance = new LiveHandles;
  return *instance;
}

void add_live(const void* handle) {
  const Lock lock(live().mutex);
  live().handles.insert(handle);
}

void remove_live(const void* handle) noexcept {
  const Lock lock(live().mutex);
  live().handles.erase(handle);
}

template <class T, class H>
T& find_live(H handle, const char* sentence) {
  auto* object = static_cast<T*>(handle);
  {
    const Lock lock(live().mutex);
    if (handle != nullptr && live().handles.count(object) != 0) {
      return *object;
    }
  }
  throw Error(musaErrorInvalidValue, sentence);
}

} // namespace

Graph::Graph() {
  add_live(this);
}

Graph::~Graph() {
  for (const Node& node : nodes_) {
    remove_live(&node);
  }
  remove_live(this);
}

Node* Graph::add(Node node) {
  nodes_.push_back(std::move(node));
  add_live(&nodes_.back());
  return &nodes_.back();
}

bool Graph::ends_with(const std::vector<Node*>& last) const {
  std::unordered_set<const Node*> seen(last.begin(), last.end());
  std::vector<const Node*> open(last.begin(), last.end());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const Node* before : node->after) {
      if (seen.insert(before).second) {
        open.push_back(before);
      }
    }
  }
  return seen.size() == nodes_.size();
}

Program Graph::program() const {
  Program out;
  for (const Node& node : nodes_) {
    out.insert(out.end(), node.tasks.begin(), node.tasks.end());
  }
  if (planted("lost_node") && !out.empty()) {
    out.pop_back();
  }
  return out;
}

GraphExec::GraphExec(Program program) : program_(std::move(program)) {
  add_live(this);
}

GraphExec::~GraphExec() {
  remove_live(this);
}

void GraphExec::launch(Stream& stream) {
  // Two launches at once would run the same tasks on the same memory.
  const Lock lock(mutex_);
  stream.follow_default_stream();
  stream.wait_for(last_);
  last_ = {&stream, stream.enqueue_all(program_)};
}

Graph& find_graph(musaGraph_t handle) {
  return find_live<Graph>(
      handle,
      "the graph handle is none, or its graph was destroyed");
}

GraphExec& find_graph_exec(musaGraphExec_t handle) {
  return find_live<GraphExec>(
      handle,
      "the handle of an instantiated graph is none, or was destroyed");
}

Node& find_graph_node(musaGraphNode_t handle) {
  return find_live<Node>(
      handle,
      "the handle of a graph's node is none, or its graph was destroyed");
}

void write_dot(const Graph& graph, const char* path) {
  std::string text = "digraph musa {\n";
  for (const Node& node : graph.nodes()) {
    const auto label = [](const Node* of) {
      char out[32];
      std::snprintf(out, sizeof out, "n%p", static_cast<const void*>(of));
      return std::string(out);
    };
    text += "  " + label(&node) + " [label=\"" + node.name + "\"];\n";
    for (const Node* before : node.after) {
      text += "  " + label(before) + " -> " + label(&node) + ";\n";
    }
  }
  text += "}\n";
  std::FILE* file = std::fopen(path, "w");
  bool good = file != nullptr &&
      std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) {
    good = std::fclose(file) == 0 && good;
  }
  if (!good) {
    throw Error(
        musaErrorOperatingSystem,
        std::string("cannot write ") + path + ": " +
            std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
  }
}

} // namespace musa_standin::engine::cpu
