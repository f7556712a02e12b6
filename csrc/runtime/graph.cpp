// SPDX-License-Identifier: Apache-2.0
// Stream captures and graphs.
#include "csrc/runtime/graph.h"

namespace torch_fl::runtime {
namespace {

// Verbose, as torch.cuda prints graphs.
constexpr unsigned kDotFlags = musaGraphDebugDotFlagsVerbose;

musaStreamCaptureMode vendor_mode(CaptureMode mode) {
  switch (mode) {
  case CaptureMode::kThreadLocal:
    return musaStreamCaptureModeThreadLocal;
  case CaptureMode::kRelaxed:
    return musaStreamCaptureModeRelaxed;
  default:
    return musaStreamCaptureModeGlobal;
  }
}

} // namespace

std::atomic<int> captures{0};

// The default stream cannot be asked while a blocking stream is captured, and
// is not part of a capture itself.
uint64_t capture_id_slow(musaStream_t stream) {
  if (stream == nullptr) {
    return 0;
  }
  auto status = musaStreamCaptureStatusNone;
  unsigned long long id = 0;
  FL_MUSA_CHECK(musaStreamGetCaptureInfo_v2(
      stream,
      &status,
      &id,
      nullptr,
      nullptr,
      nullptr));
  return status == musaStreamCaptureStatusNone ? 0 : id;
}

// Some releases do not have the exchange, and forbid nothing either.
UnguardedScope::UnguardedScope() {
  if (captures_underway()) {
    active_ = musaThreadExchangeStreamCaptureMode(&mode_) == musaSuccess;
    if (!active_) {
      static_cast<void>(musaGetLastError());
    }
  }
}

UnguardedScope::~UnguardedScope() {
  if (active_) {
    FL_MUSA_WARN(musaThreadExchangeStreamCaptureMode(&mode_));
  }
}

uint64_t Graph::begin(const Stream& stream, CaptureMode mode) {
  const DeviceScope scope(stream.device());
  FL_MUSA_CHECK(musaStreamBeginCapture(stream.handle(), vendor_mode(mode)));
  return capture_id_slow(stream.handle());
}

Graph Graph::end(const Stream& stream) {
  const DeviceScope scope(stream.device());
  musaGraph_t graph = nullptr;
  FL_MUSA_CHECK(musaStreamEndCapture(stream.handle(), &graph));
  Graph result;
  result.graph_.reset(graph);
  return result;
}

// Five arguments: releases differ in the short form.
void Graph::instantiate() {
  musaGraphExec_t exec = nullptr;
  FL_MUSA_CHECK(musaGraphInstantiate(&exec, graph_.get(), nullptr, nullptr, 0));
  exec_.reset(exec);
}

void Graph::launch(const Stream& stream) const {
  const DeviceScope scope(stream.device());
  FL_MUSA_CHECK(musaGraphLaunch(exec_.get(), stream.handle()));
}

void Graph::write_dot(const std::string& path) const {
  FL_MUSA_CHECK(musaGraphDebugDotPrint(graph_.get(), path.c_str(), kDotFlags));
}

} // namespace torch_fl::runtime
