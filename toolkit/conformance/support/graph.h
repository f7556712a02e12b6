// SPDX-License-Identifier: Apache-2.0
// Owners of graphs, and the scope of a capture.
#pragma once

#include "support/musa.h"

#include <cstring>

namespace conformance {

// Captures a stream from its construction on. If nothing ended the capture by
// then, its destructor does, whatever that says.
class Capture {
 public:
  explicit Capture(
      musaStream_t stream,
      musaStreamCaptureMode mode = musaStreamCaptureModeGlobal);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // The graph is the caller's; null after an error.
  musaError_t end(musaGraph_t* graph);
  // Ends a capture that was spoilt.
  void expect_invalid();

 private:
  musaStream_t stream_;
  bool active_;
};

class Exec {
 public:
  // Takes the graph, and destroys it at once.
  explicit Exec(musaGraph_t graph);
  ~Exec();
  Exec(const Exec&) = delete;
  Exec& operator=(const Exec&) = delete;
  operator musaGraphExec_t() const { return handle_; } // NOLINT: a view
  musaGraphExec_t release();

 private:
  musaGraphExec_t handle_ = nullptr;
};

// What `record` does on the stream, as an executable graph.
template <class F>
musaGraph_t captured(musaStream_t stream, F&& record) {
  Capture capture(stream);
  record();
  musaGraph_t graph = nullptr;
  (void)capture.end(&graph);
  return graph;
}

musaStreamCaptureStatus capture_status(musaStream_t stream);
std::size_t node_count(musaGraph_t graph);

// Pinned host memory of ints.
class Pinned {
 public:
  explicit Pinned(std::size_t count);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  int* get() const { return pointer_; }
  int& operator[](std::size_t i) const { return pointer_[i]; }

 private:
  int* pointer_ = nullptr;
};

} // namespace conformance
