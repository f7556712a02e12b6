// SPDX-License-Identifier: Apache-2.0
// Stream captures and graphs.
#pragma once

#include "csrc/runtime/stream.h"
#include "csrc/runtime/unique_handle.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace torch_fl::runtime {

// Whose unsafe calls a capture forbids: those of all threads, of its own, none.
enum class CaptureMode : uint8_t { kGlobal, kThreadLocal, kRelaxed };

// Captures that were announced and have not ended. While there are any, caches
// neither ask events nor record them nor give memory back: a capture forbids
// the one, would swallow the other, and is spoilt by the third.
extern FL_API std::atomic<int> captures;
inline bool captures_underway() noexcept {
  return captures.load(std::memory_order_relaxed) != 0;
}

// Announces a capture from before its beginning until after its end.
class CaptureNotice {
 public:
  CaptureNotice() noexcept { captures.fetch_add(1); }
  CaptureNotice(const CaptureNotice&) = delete;
  CaptureNotice& operator=(const CaptureNotice&) = delete;
  CaptureNotice(CaptureNotice&&) = delete;
  CaptureNotice& operator=(CaptureNotice&&) = delete;
  ~CaptureNotice() { captures.fetch_sub(1); }
};

// The number of the capture that a stream is part of, 0 if it is part of none.
// Asks musart only while a capture is underway.
FL_API uint64_t capture_id_slow(musaStream_t stream);
inline uint64_t capture_id(musaStream_t stream) {
  return C10_LIKELY(!captures_underway()) ? 0 : capture_id_slow(stream);
}

// A call that the capture of another stream would forbid is allowed to this
// thread until the end of the scope, where the toolkit can do that.
class UnguardedScope {
 public:
  FL_API UnguardedScope();
  UnguardedScope(const UnguardedScope&) = delete;
  UnguardedScope& operator=(const UnguardedScope&) = delete;
  UnguardedScope(UnguardedScope&&) = delete;
  UnguardedScope& operator=(UnguardedScope&&) = delete;
  FL_API ~UnguardedScope();

 private:
  bool active_ = false;
  musaStreamCaptureMode mode_ = musaStreamCaptureModeRelaxed;
};

// A captured graph, and its runnable form once there is one. The graph is kept
// for as long, since not all of the vendor's releases run it without.
class Graph {
 public:
  // Returns the capture's number.
  FL_API static uint64_t begin(const Stream& stream, CaptureMode mode);
  FL_API static Graph end(const Stream& stream);

  Graph() = default;

  [[nodiscard]] bool captured() const noexcept {
    return static_cast<bool>(graph_);
  }
  [[nodiscard]] bool instantiated() const noexcept {
    return static_cast<bool>(exec_);
  }
  FL_API void instantiate();
  FL_API void launch(const Stream& stream) const;
  // For graphviz.
  FL_API void write_dot(const std::string& path) const;

 private:
  // In this order: the runnable form goes first.
  UniqueHandle<musaGraph_t, &musaGraphDestroy> graph_;
  UniqueHandle<musaGraphExec_t, &musaGraphExecDestroy> exec_;
};

} // namespace torch_fl::runtime
