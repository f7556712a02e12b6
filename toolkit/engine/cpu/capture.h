// SPDX-License-Identifier: Apache-2.0
// Stream capture: who records into which graph, and what that forbids.
#pragma once

#include "toolkit/engine/cpu/graph.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace musa_standin::engine::cpu {

class Device;
class Event;
struct Capture;

// A stream's part in a capture: what its next node comes after.  A device's
// legacy stream has one without a capture while blocking streams are captured:
// nothing may use it then.
struct Lane {
  Capture* capture = nullptr;
  Stream* stream = nullptr;
  std::vector<Node*> after;
};

// What an event stands for that was recorded in a capture.
struct CapturedRecord {
  std::shared_ptr<Capture> capture;
  std::vector<Node*> after;
};

// Captures of the process that have not ended.
extern std::atomic<int> g_captures;

void begin_capture(Stream& stream, musaStreamCaptureMode mode);
// The graph is the caller's.
Graph* end_capture(Stream& stream);
CaptureInfo capture_info(Stream& stream);
musaStreamCaptureMode exchange_capture_mode(musaStreamCaptureMode mode);

// False: the stream is not captured (any more), and nothing happened.
bool capture_node(Stream& stream, Node node);
bool capture_record(Stream& stream, Event& event);
bool capture_wait(Stream& stream, Event& event);

// Throws, and spoils the captures concerned, where a call of this thread may
// not be made because of one: it could wait for the device or change what a
// capture relies on.
void forbid_in_capture_slow();
inline void forbid_in_capture() {
  if (__builtin_expect(g_captures.load(std::memory_order_relaxed) != 0, 0)) {
    forbid_in_capture_slow();
  }
}
// The same for a call that waits for, or asks about, this stream or device.
void forbid_if_captured(Stream& stream);
void forbid_if_captured(Device& device);
// The same for what cannot be repeated.
void refuse_capture(Stream& stream, const char* sentence);
[[noreturn]] void refuse_captured_event(const CapturedRecord& record);

// The stream is destroyed; all streams of the device are.
void leave_capture(Stream& stream);
void leave_captures(Device& device);

} // namespace musa_standin::engine::cpu
