// SPDX-License-Identifier: Apache-2.0
// A captured graph with all that belongs to it: memory, random numbers, stream.
#pragma once

#include "csrc/rng/capture.h"
#include "csrc/runtime/graph.h"

#include <c10/core/Allocator.h>

#include <memory>
#include <optional>
#include <string>

namespace torch_fl::routing {

// What torch.flagos.Graph and torch.accelerator.Graph hold. Not for several
// threads at once.
class FL_API Graph {
 public:
  // keep: the graph is instantiated on demand, not when the capture ends.
  explicit Graph(bool keep = false) : keep_(keep) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  Graph(Graph&&) = delete;
  Graph& operator=(Graph&&) = delete;
  ~Graph();

  // On the current stream. {0, 0}: a pool of its own.
  void capture_begin(c10::MempoolId_t pool, runtime::CaptureMode mode);
  void capture_end();
  void instantiate();
  void replay();
  void reset();
  [[nodiscard]] c10::MempoolId_t pool() const;
  void debug_dump(const std::string& path) const;

 private:
  // From before the capture begins until after it has ended.
  struct Capture {
    explicit Capture(const runtime::Stream& on) : stream(on) {}

    runtime::CaptureNotice notice;
    runtime::Stream stream;
    uint64_t id = 0;
  };
  void close_capture() noexcept;
  void require_captured() const;

  const bool keep_;
  std::optional<Capture> capture_;
  c10::DeviceIndex device_ = -1;
  c10::MempoolId_t pool_{0, 0};
  bool holds_pool_ = false;
  // The graph goes before the memory of its random numbers.
  std::unique_ptr<rng::CapturedDraws> draws_;
  runtime::Graph graph_;
};

} // namespace torch_fl::routing
