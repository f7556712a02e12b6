// SPDX-License-Identifier: Apache-2.0
// The runtime under test and small owners over it. Whatever only the portable
// toolkit has stands behind CONFORMANCE_PORTABLE.
#pragma once

#include <musa_runtime.h>

#if __has_include(<musa_portable.h>)
#include <musa_portable.h>
#define CONFORMANCE_PORTABLE 1
#else
#define CONFORMANCE_PORTABLE 0
#endif

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define CONFORMANCE_TSAN 1
#else
#define CONFORMANCE_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CONFORMANCE_ASAN 1
#else
#define CONFORMANCE_ASAN 0
#endif

namespace conformance {

std::string code_name(musaError_t code);

// "vendor", "cpu" or "cuda".
std::string engine_name();

// Skips a test of what only the portable toolkit's CPU engine lets one choose.
#define ON_CPU_ENGINE_ONLY()                                         \
  if (conformance::engine_name() != "cpu") {                         \
    GTEST_SKIP() << "asks what only the CPU engine has: MUSA_CPU_*"; \
  }

int device_count();

// Memory of the current device.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer& operator=(Buffer&&) = delete;

  void* get() const { return pointer_; }
  unsigned char* at(std::size_t offset) const;
  std::size_t bytes() const { return bytes_; }
  void fill(int value) const;
  // Waits for the device and returns the contents.
  std::vector<unsigned char> read() const;

 private:
  void* pointer_ = nullptr;
  std::size_t bytes_ = 0;
};

class Stream {
 public:
  Stream();
  explicit Stream(unsigned flags);
  Stream(unsigned flags, int priority);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // NOLINTNEXTLINE(google-explicit-constructor): stands for its handle
  operator musaStream_t() const { return handle_; }
  musaStream_t release();

 private:
  musaStream_t handle_ = nullptr;
  bool owned_ = true;
};

class Event {
 public:
  explicit Event(unsigned flags = musaEventDefault);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator musaEvent_t() const { return handle_; } // NOLINT: a view
  musaEvent_t release();

 private:
  musaEvent_t handle_ = nullptr;
  bool owned_ = true;
};

// Holds streams with a host function until it is opened. It opens by itself
// after a while, so that a wrong runtime fails a test and does not hang it.
class Gate {
 public:
  Gate() = default;
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  musaError_t hold(musaStream_t stream);
  void open();
  // Waits until a held stream has reached the gate.
  bool wait_entered();
  bool expired() const { return expired_; }

 private:
  static void pass(void* self);
  std::mutex mutex_;
  std::condition_variable changed_;
  int queued_ = 0;
  int entered_ = 0;
  int left_ = 0;
  bool open_ = false;
  std::atomic<bool> expired_{false};
};

// A host function that sets a flag; `done()` may be read from any thread.
class Flag {
 public:
  musaError_t set_by(musaStream_t stream);
  bool done() const { return value_.load(); }

 private:
  static void set(void* self);
  std::atomic<bool> value_{false};
};

double seconds_since(std::chrono::steady_clock::time_point start);

// A handle value that was a stream or event and is no longer.
musaStream_t freed_stream();
musaEvent_t freed_event();

} // namespace conformance
