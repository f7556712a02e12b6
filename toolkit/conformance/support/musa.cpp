// SPDX-License-Identifier: Apache-2.0
// Owners, gates and names shared by all conformance tests.
#include "support/musa.h"

#include <gtest/gtest.h>

#include <utility>

namespace conformance {
namespace {

constexpr std::chrono::seconds kPatience(CONFORMANCE_TSAN ? 30 : 10);

void must(musaError_t code, const char* what) {
  EXPECT_EQ(code_name(musaSuccess), code_name(code)) << what;
}

} // namespace

std::string code_name(musaError_t code) {
  const char* name = musaGetErrorName(code);
  return std::to_string(static_cast<int>(code)) + " " +
      (name == nullptr ? "(no name)" : name);
}

std::string engine_name() {
#if CONFORMANCE_PORTABLE
  return musaPortableEngine();
#else
  return "vendor";
#endif
}

int device_count() {
  int count = 0;
  must(musaGetDeviceCount(&count), "musaGetDeviceCount");
  return count;
}

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  must(musaMalloc(&pointer_, bytes), "musaMalloc");
}

Buffer::Buffer(Buffer&& other) noexcept
    : pointer_(std::exchange(other.pointer_, nullptr)), bytes_(other.bytes_) {}

Buffer::~Buffer() {
  if (pointer_ != nullptr) {
    must(musaFree(pointer_), "musaFree");
  }
}

unsigned char* Buffer::at(std::size_t offset) const {
  return static_cast<unsigned char*>(pointer_) + offset;
}

void Buffer::fill(int value) const {
  must(musaMemset(pointer_, value, bytes_), "musaMemset");
}

std::vector<unsigned char> Buffer::read() const {
  std::vector<unsigned char> host(bytes_);
  must(musaDeviceSynchronize(), "musaDeviceSynchronize");
  must(
      musaMemcpy(host.data(), pointer_, bytes_, musaMemcpyDeviceToHost),
      "musaMemcpy");
  return host;
}

Stream::Stream() {
  must(musaStreamCreate(&handle_), "musaStreamCreate");
}

Stream::Stream(unsigned flags) {
  must(musaStreamCreateWithFlags(&handle_, flags), "musaStreamCreateWithFlags");
}

Stream::Stream(unsigned flags, int priority) {
  must(
      musaStreamCreateWithPriority(&handle_, flags, priority),
      "musaStreamCreateWithPriority");
}

Stream::~Stream() {
  if (owned_) {
    must(musaStreamDestroy(handle_), "musaStreamDestroy");
  }
}

musaStream_t Stream::release() {
  owned_ = false;
  return handle_;
}

Event::Event(unsigned flags) {
  must(musaEventCreateWithFlags(&handle_, flags), "musaEventCreateWithFlags");
}

Event::~Event() {
  if (owned_) {
    must(musaEventDestroy(handle_), "musaEventDestroy");
  }
}

musaEvent_t Event::release() {
  owned_ = false;
  return handle_;
}

void Gate::pass(void* self) {
  auto* gate = static_cast<Gate*>(self);
  std::unique_lock<std::mutex> lock(gate->mutex_);
  ++gate->entered_;
  gate->changed_.notify_all();
  if (!gate->changed_.wait_for(lock, kPatience, [&] { return gate->open_; })) {
    gate->expired_ = true;
    gate->open_ = true;
  }
  ++gate->left_;
  gate->changed_.notify_all();
}

musaError_t Gate::hold(musaStream_t stream) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++queued_;
  }
  const musaError_t code = musaLaunchHostFunc(stream, &Gate::pass, this);
  if (code != musaSuccess) {
    const std::lock_guard<std::mutex> lock(mutex_);
    --queued_;
  }
  return code;
}

void Gate::open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

bool Gate::wait_entered() {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return entered_ > 0; });
}

Gate::~Gate() {
  open();
  std::unique_lock<std::mutex> lock(mutex_);
  const bool all_left =
      changed_.wait_for(lock, kPatience, [&] { return left_ == queued_; });
  EXPECT_TRUE(all_left) << "a held stream never passed the gate";
  EXPECT_FALSE(expired_) << "the gate had to open by itself";
}

void Flag::set(void* self) {
  static_cast<Flag*>(self)->value_.store(true);
}

musaError_t Flag::set_by(musaStream_t stream) {
  return musaLaunchHostFunc(stream, &Flag::set, this);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

musaStream_t freed_stream() {
  musaStream_t stream = nullptr;
  must(musaStreamCreate(&stream), "musaStreamCreate");
  must(musaStreamDestroy(stream), "musaStreamDestroy");
  return stream;
}

musaEvent_t freed_event() {
  musaEvent_t event = nullptr;
  must(musaEventCreate(&event), "musaEventCreate");
  must(musaEventDestroy(event), "musaEventDestroy");
  return event;
}

} // namespace conformance
