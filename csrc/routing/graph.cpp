// SPDX-License-Identifier: Apache-2.0
// A captured graph: the order in which allocator, generators and runtime learn
// of a capture, and torch.accelerator.Graph on top of it.
#include "csrc/routing/graph.h"

#include "csrc/allocator/device_allocator.h"

#if __has_include(<ATen/core/GraphImplInterface.h>)
#include <ATen/core/GraphImplInterface.h>
#define FL_HAS_GRAPH_INTERFACE 1
#else
#define FL_HAS_GRAPH_INTERFACE 0
#endif

#include <utility>

namespace torch_fl::routing {

Graph::~Graph() {
  try {
    reset();
  } catch (const std::exception& error) {
    runtime::warn_text(error.what());
  }
}

void Graph::capture_begin(c10::MempoolId_t pool, runtime::CaptureMode mode) {
  TORCH_CHECK(
      !capture_ && !graph_.captured(),
      "this graph is captured already: reset() it first, or make another one.");
  const runtime::Stream stream = runtime::current_stream();
  TORCH_CHECK(
      stream.id() != 0,
      "the default stream cannot be captured: make another stream current, as "
      "torch.flagos.graph does.");
  TORCH_CHECK(
      runtime::capture_id(stream.handle()) == 0,
      "the current stream is captured already.");
  device_ = stream.device();
  const bool own = pool == c10::MempoolId_t{0, 0};
  pool_ = own ? allocator::new_pool_id(/*shared=*/false) : pool;
  draws_ =
      std::make_unique<rng::CapturedDraws>([](size_t bytes, uint64_t capture) {
        return allocator::allocate_beside(
            bytes,
            runtime::current_device(),
            capture);
      });
  capture_.emplace(stream);
  try {
    // Others finish what the capture forbids before it begins.
    allocator::settle();
    capture_->id = runtime::Graph::begin(stream, mode);
    allocator::begin_capture(pool_, capture_->id);
    holds_pool_ = true;
    draws_->begin(capture_->id);
  } catch (...) {
    reset();
    throw;
  }
}

void Graph::capture_end() {
  TORCH_CHECK(capture_.has_value(), "no capture of this graph has begun.");
  TORCH_CHECK(
      runtime::current_stream() == capture_->stream,
      "a capture ends on the stream that it began on, which is not current.");
  try {
    graph_ = runtime::Graph::end(capture_->stream);
  } catch (...) {
    reset();
    throw;
  }
  close_capture();
  if (!keep_) {
    instantiate();
  }
}

void Graph::close_capture() noexcept {
  draws_->end();
  allocator::end_capture(capture_->id);
  capture_.reset();
  if (!runtime::captures_underway()) {
    allocator::free_deferred();
  }
}

void Graph::require_captured() const {
  TORCH_CHECK(
      graph_.captured(),
      "this graph is empty: capture something first.");
}

void Graph::instantiate() {
  require_captured();
  const runtime::DeviceScope scope(device_);
  graph_.instantiate();
}

void Graph::replay() {
  require_captured();
  if (!graph_.instantiated()) {
    instantiate();
  }
  const runtime::DeviceScope scope(device_);
  draws_->prepare();
  graph_.launch(runtime::current_stream());
}

// A capture that runs is ended first, and its graph dropped.
void Graph::reset() {
  if (capture_) {
    if (capture_->id != 0) {
      try {
        static_cast<void>(runtime::Graph::end(capture_->stream));
      } catch (const c10::Error&) {
        // It was spoilt, or has ended: it is over in either case.
      }
    }
    close_capture();
  }
  graph_ = runtime::Graph();
  draws_.reset();
  if (std::exchange(holds_pool_, false)) {
    allocator::release_pool(pool_);
  }
}

c10::MempoolId_t Graph::pool() const {
  TORCH_CHECK(
      holds_pool_,
      "a graph has a pool from the beginning of its capture on.");
  return pool_;
}

void Graph::debug_dump(const std::string& path) const {
  require_captured();
  graph_.write_dot(path);
}

#if FL_HAS_GRAPH_INTERFACE
namespace {

class AcceleratorGraph final : public at::GraphImplInterface {
 public:
  explicit AcceleratorGraph(const at::GraphImplArgs& arguments)
      : graph_(arguments.keep_graph) {}

  void capture_begin(c10::MempoolId_t pool, at::GraphCaptureMode mode)
      override {
    graph_.capture_begin(pool, our_mode(mode));
  }
  void capture_end() override { graph_.capture_end(); }
  void instantiate() override { graph_.instantiate(); }
  void replay() override { graph_.replay(); }
  void reset() override { graph_.reset(); }
  c10::MempoolId_t pool() const override { return graph_.pool(); }
  // Graphs are always kept, so that they can be dumped.
  void enable_debug_mode() override {}
  void debug_dump(const std::string& path) override { graph_.debug_dump(path); }

 private:
  static runtime::CaptureMode our_mode(at::GraphCaptureMode mode) {
    switch (mode) {
    case at::GraphCaptureMode::ThreadLocal:
      return runtime::CaptureMode::kThreadLocal;
    case at::GraphCaptureMode::Relaxed:
      return runtime::CaptureMode::kRelaxed;
    default:
      return runtime::CaptureMode::kGlobal;
    }
  }

  Graph graph_;
};

// Torch looks graphs up by the name of the device type, as it is after it was
// renamed.
const bool kRegistered = [] {
  at::GraphImplRegistry()->Register(
      "FLAGOS",
      [](const at::GraphImplArgs& arguments)
          -> std::unique_ptr<at::GraphImplInterface> {
        return std::make_unique<AcceleratorGraph>(arguments);
      });
  return true;
}();

} // namespace
#endif

} // namespace torch_fl::routing
