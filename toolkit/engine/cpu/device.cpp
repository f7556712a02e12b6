// SPDX-License-Identifier: Apache-2.0
// Devices: start, streams, errors, reset.
#include "toolkit/engine/cpu/device.h"

#include "toolkit/engine/cpu/capture.h"
#include "toolkit/engine/cpu/event.h"
#include "toolkit/engine/cpu/mem_pool.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/start.h"
#include "toolkit/engine/fault.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace musa_standin::engine::cpu {
namespace {

using Lock = std::lock_guard<std::mutex>;

std::atomic<Device*> g_devices[kMaxDevices];
std::mutex g_devices_mutex;

// One write, so that lines of several threads do not mix.
void report(int device, const char* task, musaError_t code, const char* what) {
  char line[512];
  const int length = std::snprintf(
      line,
      sizeof line,
      "musa: device %d: %s failed: %s (%s)\n",
      device,
      task,
      *what != '\0' ? what : error_text(code),
      error_name(code));
  if (length > 0) {
    const size_t bytes = std::min(static_cast<size_t>(length), sizeof line - 1);
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, bytes);
  }
}

void update_sticky_gate() {
  bool any = false;
  for (auto& slot : g_devices) {
    const Device* at = slot.load(std::memory_order_acquire);
    any = any || (at != nullptr && at->sticky() != musaSuccess);
  }
  if (any) {
    g_gate.fetch_or(kGateSticky);
  } else {
    g_gate.fetch_and(~static_cast<uint32_t>(kGateSticky));
  }
}

} // namespace

StreamTable& stream_table() {
  static auto* const table = new StreamTable;
  return *table;
}

Device* device_if_started(int index) {
  return g_devices[index].load(std::memory_order_acquire);
}

Device& device(int index) {
  Device* at = device_if_started(index);
  if (__builtin_expect(at != nullptr, 1)) {
    return *at;
  }
  const Lock lock(g_devices_mutex);
  at = device_if_started(index);
  if (at == nullptr) {
    start_engine();
    at = new Device(index);
    g_devices[index].store(at, std::memory_order_release);
  }
  return *at;
}

Device::Device(int index)
    : heap(
          g_range.base + static_cast<uintptr_t>(index) * g_range.per_device,
          g_range.per_device),
      index_(index), legacy_(&stream_table().take()) {
  legacy_->open(*this, musaStreamDefault, 0, Stream::Order::kLegacy);
  set_default_limits();
  make_pool(*this, 0);
}

void Device::set_default_limits() {
  std::fill(std::begin(limits), std::end(limits), 0);
  limits[musaLimitStackSize] = 1024;
  limits[musaLimitPrintfFifoSize] = size_t{1} << 20;
  limits[musaLimitMallocHeapSize] = size_t{8} << 20;
}

Stream& Device::create_stream(unsigned flags, int priority) {
  reap();
  Stream& stream = stream_table().take();
  const bool blocking = (flags & musaStreamNonBlocking) == 0;
  const Lock lock(streams_mutex_);
  streams_.reserve(streams_.size() + 1);
  stream.open(
      *this,
      flags,
      priority,
      blocking ? Stream::Order::kBlocking : Stream::Order::kNone);
  streams_.push_back(&stream);
  if (blocking) {
    blocking_streams_.fetch_add(1);
  }
  return stream;
}

void Device::destroy_stream(Stream& stream) {
  leave_capture(stream);
  stream.set_alive(false);
  reap();
}

void Device::reap() {
  const Lock lock(streams_mutex_);
  const auto ended = [this](Stream* stream) {
    // With the claim no worker is near the ring.
    if (stream->alive() || !stream->idle() || !stream->try_claim()) {
      return false;
    }
    const bool blocking = stream->order() == Stream::Order::kBlocking;
    stream->close();
    if (blocking) {
      blocking_streams_.fetch_sub(1);
    }
    stream_table().give_back(*stream);
    return true;
  };
  streams_.erase(
      std::remove_if(streams_.begin(), streams_.end(), ended),
      streams_.end());
}

std::vector<Mark> Device::tails(bool blocking_only) {
  std::vector<Mark> out;
  const Lock lock(streams_mutex_);
  for (Stream* stream : streams_) {
    if (blocking_only && stream->order() != Stream::Order::kBlocking) {
      continue;
    }
    const uint64_t tail = stream->submitted();
    if (stream->finished() < tail) {
      out.push_back({stream, tail});
    }
  }
  return out;
}

std::vector<Mark> Device::blocking_tails() {
  return tails(true);
}

void Device::wait() {
  std::vector<Mark> marks = tails(false);
  marks.push_back({legacy_, legacy_->submitted()});
  for (const Mark& mark : marks) {
    mark.stream->wait_until(mark.task);
  }
  reap();
}

bool Device::idle() {
  return legacy_->idle() && tails(false).empty();
}

void Device::keep_error(musaError_t code, const char* what, const char* task) {
  {
    const Lock lock(error_mutex_);
    if (planted("lost_error")) {
      return;
    }
    const bool sticky_now = is_sticky(code) && sticky() == musaSuccess;
    if (has_error_.load(std::memory_order_relaxed) && !sticky_now) {
      return; // only the first is kept
    }
    report(index_, task, code, what);
    error_ = code;
    error_what_ =
        std::string(task) + ": " + (*what != '\0' ? what : error_text(code));
    error_task_ = task;
    has_error_.store(true, std::memory_order_release);
    if (!sticky_now) {
      return;
    }
    sticky_.store(code, std::memory_order_release);
    drops_work_.store(true, std::memory_order_relaxed);
  }
  g_gate.fetch_or(kGateSticky);
}

void Device::throw_error() {
  if (!has_error_.load(std::memory_order_acquire)) {
    return;
  }
  const Lock lock(error_mutex_);
  if (!has_error_.load(std::memory_order_relaxed)) {
    return;
  }
  const Error error(error_, error_what_, error_task_);
  if (sticky() == musaSuccess) {
    has_error_.store(false, std::memory_order_release);
  }
  throw Error(error);
}

const char* Device::failed_task() {
  const Lock lock(error_mutex_);
  return has_error_.load(std::memory_order_relaxed) ? error_task_ : "";
}

void Device::reset() {
  drops_work_.store(true, std::memory_order_relaxed);
  leave_captures(*this);
  {
    const Lock lock(streams_mutex_);
    for (Stream* stream : streams_) {
      stream->set_alive(false);
    }
  }
  destroy_events(index_);
  wait();
  reset_memory(*this);
  {
    const Lock lock(settings_mutex);
    flags = 0;
    peers = 0;
    set_default_limits();
  }
  {
    const Lock lock(error_mutex_);
    has_error_.store(false);
    sticky_.store(musaSuccess);
    error_ = musaSuccess;
    error_what_.clear();
    error_task_ = "";
  }
  drops_work_.store(false, std::memory_order_relaxed);
  update_sticky_gate();
}

} // namespace musa_standin::engine::cpu
