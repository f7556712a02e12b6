// SPDX-License-Identifier: Apache-2.0
// Stream capture.  One mutex guards all captures: they are rare and short.
#include "toolkit/engine/cpu/capture.h"

#include "toolkit/engine/cpu/config.h"
#include "toolkit/engine/cpu/device.h"
#include "toolkit/engine/cpu/event.h"
#include "toolkit/engine/fault.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

namespace musa_standin::engine::cpu {

std::atomic<int> g_captures{0};

struct Capture {
  uint64_t id = 0;
  musaStreamCaptureMode mode = musaStreamCaptureModeGlobal;
  std::thread::id thread;
  bool invalid = false;
  bool ended = false;
  std::unique_ptr<Graph> graph;
  // The first is the stream that it began on.
  std::vector<std::unique_ptr<Lane>> lanes;
};

namespace {

using Lock = std::lock_guard<std::mutex>;

struct Captures {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> active;
  uint64_t last_id = 0;
  // Captured blocking streams of each device.
  int blocking[kMaxDevices] = {};
  // The lane of legacy streams that must not be used.
  Lane implicit;
};

Captures& captures() {
  static auto* const instance = new Captures;
  return *instance;
}

thread_local musaStreamCaptureMode t_mode = musaStreamCaptureModeGlobal;

[[noreturn]] void throw_unsupported(const char* sentence) {
  throw Error(musaErrorStreamCaptureUnsupported, sentence);
}

[[noreturn]] void throw_invalidated() {
  throw Error(
      musaErrorStreamCaptureInvalidated,
      "the capture was spoilt by an earlier error");
}

void attach(Capture& capture, Stream& stream, std::vector<Node*> after) {
  Captures& all = captures();
  capture.lanes.push_back(std::make_unique<Lane>());
  Lane& lane = *capture.lanes.back();
  lane = {&capture, &stream, std::move(after)};
  stream.set_lane(&lane);
  if (stream.order() == Stream::Order::kBlocking &&
      all.blocking[stream.device()]++ == 0) {
    stream.owner().legacy().set_lane(&all.implicit);
  }
}

void detach(const Lane& lane) {
  Captures& all = captures();
  Stream& stream = *lane.stream;
  stream.set_lane(nullptr);
  if (stream.order() == Stream::Order::kBlocking &&
      --all.blocking[stream.device()] == 0) {
    stream.owner().legacy().set_lane(nullptr);
  }
}

// Takes all its streams out of the capture.
void finish(Capture& capture) {
  Captures& all = captures();
  for (const auto& lane : capture.lanes) {
    detach(*lane);
  }
  capture.lanes.clear();
  capture.ended = true;
  all.active.erase(std::find_if(
      all.active.begin(),
      all.active.end(),
      [&](const auto& other) { return other.get() == &capture; }));
  g_captures.fetch_sub(1);
}

[[noreturn]] void throw_implicit(int device) {
  for (const auto& capture : captures().active) {
    for (const auto& lane : capture->lanes) {
      capture->invalid = capture->invalid ||
          (lane->stream->device() == device &&
           lane->stream->order() == Stream::Order::kBlocking);
    }
  }
  throw Error(
      musaErrorStreamCaptureImplicit,
      "the legacy default stream would wait for a captured blocking stream");
}

// The capture of a lane that may be recorded into.
Capture& usable(const Lane& lane, const Stream& stream) {
  if (lane.capture == nullptr) {
    throw_implicit(stream.device());
  }
  if (lane.capture->invalid) {
    throw_invalidated();
  }
  return *lane.capture;
}

std::shared_ptr<Capture> share(const Capture& capture) {
  for (const auto& other : captures().active) {
    if (other.get() == &capture) {
      return other;
    }
  }
  return nullptr;
}

void join(std::vector<Node*>& after, const std::vector<Node*>& more) {
  for (Node* node : more) {
    if (std::find(after.begin(), after.end(), node) == after.end()) {
      after.push_back(node);
    }
  }
}

void wait_outside(const CapturedRecord* record, Capture& capture) {
  capture.invalid = true;
  if (record != nullptr && !record->capture->ended) {
    record->capture->invalid = true;
    throw Error(
        musaErrorStreamCaptureMerge,
        "the event belongs to another capture than the stream");
  }
  throw Error(
      musaErrorStreamCaptureIsolation,
      "a captured stream would wait for work outside of its capture");
}

} // namespace

void begin_capture(Stream& stream, musaStreamCaptureMode mode) {
  if (stream.order() == Stream::Order::kLegacy) {
    throw_unsupported("the legacy default stream cannot be captured");
  }
  Captures& all = captures();
  const Lock lock(all.mutex);
  if (stream.lane() != nullptr) {
    throw Error(musaErrorIllegalState, "the stream is captured already");
  }
  auto capture = std::make_shared<Capture>();
  capture->id = ++all.last_id;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->graph = std::make_unique<Graph>();
  capture->graph->in_capture = true;
  all.active.push_back(capture);
  g_captures.fetch_add(1);
  attach(*capture, stream, {});
}

Graph* end_capture(Stream& stream) {
  const Lock lock(captures().mutex);
  const Lane* lane = stream.lane();
  if (lane == nullptr || lane->capture == nullptr) {
    throw Error(musaErrorIllegalState, "the stream is not captured");
  }
  const std::shared_ptr<Capture> capture = share(*lane->capture);
  if (lane != capture->lanes.front().get()) {
    throw Error(
        musaErrorStreamCaptureUnmatched,
        "the capture began on another stream");
  }
  if (capture->mode != musaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    throw Error(
        musaErrorStreamCaptureWrongThread,
        "the capture began in another thread");
  }
  const bool joined = capture->graph->ends_with(lane->after);
  finish(*capture);
  if (capture->invalid) {
    throw_invalidated();
  }
  if (!joined && !planted("unjoined_capture")) {
    throw Error(
        musaErrorStreamCaptureUnjoined,
        "the stream does not wait for all work of its capture");
  }
  capture->graph->in_capture = false;
  return capture->graph.release();
}

CaptureInfo capture_info(Stream& stream) {
  const Lock lock(captures().mutex);
  const Lane* lane = stream.lane();
  if (lane == nullptr) {
    return {};
  }
  if (lane->capture == nullptr) {
    throw Error(
        musaErrorStreamCaptureImplicit,
        "a blocking stream of the legacy default stream's device is captured");
  }
  const Capture& capture = *lane->capture;
  CaptureInfo out;
  out.status = capture.invalid ? musaStreamCaptureStatusInvalidated
                               : musaStreamCaptureStatusActive;
  out.id = capture.id;
  out.graph = capture.graph.get();
  // Handles are the nodes' addresses, and their base is empty.
  static_assert(std::is_base_of_v<::MUgraphNode_st, Node>);
  thread_local std::vector<musaGraphNode_t> dependencies;
  dependencies.assign(lane->after.begin(), lane->after.end());
  out.dependencies = dependencies.data();
  out.dependency_count = dependencies.size();
  return out;
}

musaStreamCaptureMode exchange_capture_mode(musaStreamCaptureMode mode) {
  return std::exchange(t_mode, mode);
}

bool capture_node(Stream& stream, Node node) {
  const Lock lock(captures().mutex);
  Lane* lane = stream.lane();
  if (lane == nullptr) {
    return false;
  }
  const Capture& capture = usable(*lane, stream);
  node.after = std::move(lane->after);
  lane->after = {capture.graph->add(std::move(node))};
  return true;
}

bool capture_record(Stream& stream, Event& event) {
  const Lock lock(captures().mutex);
  const Lane* lane = stream.lane();
  if (lane == nullptr) {
    return false;
  }
  auto record = std::make_shared<CapturedRecord>();
  record->capture = share(usable(*lane, stream));
  record->after = lane->after;
  event.set_captured(std::move(record));
  return true;
}

bool capture_wait(Stream& stream, Event& event) {
  const Lock lock(captures().mutex);
  const std::shared_ptr<const CapturedRecord> record = event.captured();
  Lane* lane = stream.lane();
  if (lane == nullptr && record == nullptr) {
    return false;
  }
  Capture* capture = lane != nullptr ? &usable(*lane, stream) : nullptr;
  if (capture == nullptr) {
    if (record->capture->ended) {
      throw Error(
          musaErrorCapturedEvent,
          "the event was last recorded in a capture that has ended");
    }
    if (record->capture->invalid) {
      throw_invalidated();
    }
    if (stream.order() == Stream::Order::kLegacy) {
      record->capture->invalid = true;
      throw_unsupported("the legacy default stream cannot be captured");
    }
    attach(*record->capture, stream, record->after);
    return true;
  }
  if (record == nullptr && !event.recorded()) {
    return true;
  }
  if (record == nullptr || record->capture.get() != capture) {
    wait_outside(record.get(), *capture);
  }
  join(lane->after, record->after);
  return true;
}

void forbid_in_capture_slow() {
  if (t_mode == musaStreamCaptureModeRelaxed || planted("unguarded_capture")) {
    return;
  }
  const auto self = std::this_thread::get_id();
  const Lock lock(captures().mutex);
  bool forbidden = false;
  for (const auto& capture : captures().active) {
    const bool concerned = capture->thread == self
        ? capture->mode != musaStreamCaptureModeRelaxed
        : t_mode == musaStreamCaptureModeGlobal &&
            capture->mode == musaStreamCaptureModeGlobal;
    capture->invalid = capture->invalid || concerned;
    forbidden = forbidden || concerned;
  }
  if (forbidden) {
    throw_unsupported("the call is not permitted while a stream is captured");
  }
}

void forbid_if_captured(Stream& stream) {
  if (__builtin_expect(g_captures.load(std::memory_order_relaxed) == 0, 1)) {
    return;
  }
  refuse_capture(
      stream,
      "a captured stream can neither be waited for nor asked");
  forbid_in_capture_slow();
}

void forbid_if_captured(Device& device) {
  if (__builtin_expect(g_captures.load(std::memory_order_relaxed) == 0, 1)) {
    return;
  }
  {
    const Lock lock(captures().mutex);
    bool captured = false;
    for (const auto& capture : captures().active) {
      for (const auto& lane : capture->lanes) {
        if (lane->stream->device() == device.index()) {
          capture->invalid = true;
          captured = true;
        }
      }
    }
    if (captured) {
      throw_unsupported("a stream of the device is captured");
    }
  }
  forbid_in_capture_slow();
}

void refuse_capture(Stream& stream, const char* sentence) {
  if (stream.lane() == nullptr) {
    return;
  }
  const Lock lock(captures().mutex);
  const Lane* lane = stream.lane();
  if (lane != nullptr) {
    usable(*lane, stream).invalid = true;
    throw_unsupported(sentence);
  }
}

void refuse_captured_event(const CapturedRecord& record) {
  {
    const Lock lock(captures().mutex);
    record.capture->invalid = true;
  }
  throw Error(
      musaErrorCapturedEvent,
      "an event that was last recorded in a capture can neither be waited "
      "for nor asked");
}

void leave_capture(Stream& stream) {
  if (stream.lane() == nullptr) {
    return;
  }
  const Lock lock(captures().mutex);
  const Lane* lane = stream.lane();
  if (lane == nullptr || lane->capture == nullptr) {
    return;
  }
  const std::shared_ptr<Capture> capture = share(*lane->capture);
  capture->invalid = true;
  if (lane == capture->lanes.front().get()) {
    finish(*capture);
    return;
  }
  detach(*lane);
  capture->lanes.erase(std::find_if(
      capture->lanes.begin(),
      capture->lanes.end(),
      [lane](const auto& other) { return other.get() == lane; }));
}

void leave_captures(Device& device) {
  const Lock lock(captures().mutex);
  const auto active = captures().active;
  for (const auto& capture : active) {
    const bool here = std::any_of(
        capture->lanes.begin(),
        capture->lanes.end(),
        [&](const auto& lane) {
          return lane->stream->device() == device.index();
        });
    if (here) {
      capture->invalid = true;
      finish(*capture);
    }
  }
}

} // namespace musa_standin::engine::cpu
