// SPDX-License-Identifier: Apache-2.0
// Copies and fills: checks, tasks, and what to do about pageable memory.
#include "toolkit/engine/cpu/copy.h"

#include "toolkit/engine/cpu/capture.h"
#include "toolkit/engine/cpu/counters.h"
#include "toolkit/engine/cpu/device.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/fault.h"

#include <cstdlib>
#include <cstring>

namespace musa_standin::engine::cpu {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
// Pageable sources up to these sizes travel inside the task, or beside it, so
// that the caller need not wait.
constexpr size_t kInlineBytes = 768;
constexpr size_t kStagedBytes = size_t{64} << 10;

void copy_bytes(char* dst, const char* src, size_t bytes) {
  if (bytes < 4 * kChunkBytes) {
    std::memmove(dst, src, bytes);
    return;
  }
  const bool overlap = dst < src + bytes && src < dst + bytes;
  if (overlap) {
    std::memmove(dst, src, bytes);
    return;
  }
  parallel_for(
      static_cast<int64_t>(bytes),
      static_cast<int64_t>(kChunkBytes),
      [=](int64_t begin, int64_t end) {
        std::memcpy(dst + begin, src + begin, static_cast<size_t>(end - begin));
      });
}

struct CopyTask {
  static constexpr musaGraphNodeType kNode = musaGraphNodeTypeMemcpy;

  void* dst;
  const void* src;
  size_t width;
  size_t height;
  size_t dst_pitch;
  size_t src_pitch;

  void operator()() const {
    char* to = host<char>(dst);
    const char* from = host<const char>(src);
    if (height == 1) {
      copy_bytes(to, from, width);
      return;
    }
    const auto grain = static_cast<int64_t>(kChunkBytes / width + 1);
    parallel_for(
        static_cast<int64_t>(height),
        grain,
        [=](int64_t begin, int64_t end) {
          for (auto row = static_cast<size_t>(begin);
               row < static_cast<size_t>(end);
               ++row) {
            std::memmove(to + row * dst_pitch, from + row * src_pitch, width);
          }
        });
  }
};

struct InlineCopyTask {
  void* dst;
  size_t bytes;
  unsigned char data[kInlineBytes];

  void operator()() const { std::memcpy(host<char>(dst), data, bytes); }
};

struct StagedCopyTask {
  void* dst;
  void* data; // owned
  size_t bytes;

  void operator()() const {
    std::memcpy(host<char>(dst), data, bytes);
    std::free(data);
  }
};

struct FillTask {
  static constexpr musaGraphNodeType kNode = musaGraphNodeTypeMemset;

  void* dst;
  int value;
  size_t width;
  size_t height;
  size_t pitch;

  void operator()() const {
    char* to = host<char>(dst);
    if (height == 1) {
      const int byte = value;
      parallel_for(
          static_cast<int64_t>(width),
          static_cast<int64_t>(kChunkBytes),
          [=](int64_t begin, int64_t end) {
            const bool fault = planted("short_fill") && end > begin;
            const int64_t bytes = end - begin - (fault ? 1 : 0);
            std::memset(to + begin, byte, static_cast<size_t>(bytes));
          });
      return;
    }
    for (size_t row = 0; row < height; ++row) {
      std::memset(to + row * pitch, value, width);
    }
  }
};

// From the first to behind the last byte of all rows.
size_t extent(size_t width, size_t height, size_t pitch) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(pitch, height - 1, &bytes) ||
      __builtin_add_overflow(bytes, width, &bytes)) {
    throw Error(musaErrorInvalidValue, "the rows are beyond all memory");
  }
  return bytes;
}

bool on_device(Side side) {
  return side != Side::kPageable;
}
bool on_host(Side side) {
  return side != Side::kDevice;
}

void check_direction(musaMemcpyKind kind, Side dst, Side src) {
  bool good = true;
  switch (kind) {
  case musaMemcpyHostToHost:
    good = on_host(dst) && on_host(src);
    break;
  case musaMemcpyHostToDevice:
    good = on_device(dst) && on_host(src);
    break;
  case musaMemcpyDeviceToHost:
    good = on_host(dst) && on_device(src);
    break;
  case musaMemcpyDeviceToDevice:
    good = on_device(dst) && on_device(src);
    break;
  case musaMemcpyDefault:
    break;
  default:
    throw Error(
        musaErrorInvalidMemcpyDirection,
        "there is no such copy direction");
  }
  if (!good) {
    throw Error(
        musaErrorInvalidValue,
        "a pointer is not on the side that the copy's direction says");
  }
}

// True if the source has been taken along and nobody need wait.
bool take_along(Stream& stream, const engine::Copy& copy) {
  if (copy.height != 1 || copy.width > kStagedBytes) {
    return false;
  }
  if (copy.width <= kInlineBytes) {
    InlineCopyTask task;
    task.dst = copy.dst;
    task.bytes = copy.width;
    std::memcpy(task.data, copy.src, copy.width);
    stream.submit("memcpy", task);
    return true;
  }
  void* data = std::malloc(copy.width);
  if (data == nullptr) {
    return false;
  }
  std::memcpy(data, copy.src, copy.width);
  stream.submit("memcpy", StagedCopyTask{copy.dst, data, copy.width});
  return true;
}

void finish_copy(Stream& stream, uint64_t task) {
  stream.wait_until(task);
  if ((g_gate.load() & kGateStopped) != 0) {
    throw Error(musaErrorMusartUnloading, "the engine has stopped");
  }
  stream.owner().throw_error();
}

} // namespace

void copy(Stream& stream, const engine::Copy& copy, bool blocking) {
  if (copy.kind < musaMemcpyHostToHost || copy.kind > musaMemcpyDefault) {
    throw Error(
        musaErrorInvalidMemcpyDirection,
        "there is no such copy direction");
  }
  if (copy.height > 1 &&
      (copy.width > copy.dst_pitch || copy.width > copy.src_pitch)) {
    throw Error(musaErrorInvalidPitchValue, "a row is longer than its pitch");
  }
  if ((copy.width == 0 || copy.height == 0) && !planted("zero_copy_error")) {
    return;
  }
  if (copy.dst == nullptr || copy.src == nullptr) {
    throw Error(musaErrorInvalidValue, "a pointer of the copy is null");
  }
  const Side dst =
      classify(copy.dst, extent(copy.width, copy.height, copy.dst_pitch));
  const Side src =
      classify(copy.src, extent(copy.width, copy.height, copy.src_pitch));
  check_direction(copy.kind, dst, src);

  if (blocking) {
    forbid_in_capture();
  }
  const bool between_devices = dst == Side::kDevice && src == Side::kDevice;
  // The host sees a copy within a device only when it asks for it.
  const bool pageable = dst == Side::kPageable || src == Side::kPageable;
  // A captured copy reads and writes pageable memory anew in each replay.
  const bool wait =
      !stream.captured() && ((blocking && !between_devices) || pageable);
  if (wait && !blocking && src == Side::kPageable && dst == Side::kDevice &&
      take_along(stream, copy)) {
    return;
  }
  const uint64_t task = stream.submit(
      "memcpy",
      CopyTask{
          copy.dst,
          copy.src,
          copy.width,
          copy.height,
          copy.dst_pitch,
          copy.src_pitch});
  if (wait) {
    count(Counter::kWaits);
    finish_copy(stream, task);
  }
}

void fill(Stream& stream, const engine::Fill& fill) {
  if (fill.height > 1 && fill.width > fill.pitch) {
    throw Error(musaErrorInvalidPitchValue, "a row is longer than its pitch");
  }
  if (fill.width == 0 || fill.height == 0) {
    return;
  }
  if (fill.dst == nullptr ||
      classify(fill.dst, extent(fill.width, fill.height, fill.pitch)) ==
          Side::kPageable) {
    throw Error(
        musaErrorInvalidValue,
        "only memory of the device can be filled");
  }
  [[maybe_unused]] const uint64_t task = stream.submit(
      "memset",
      FillTask{fill.dst, fill.value, fill.width, fill.height, fill.pitch});
  if (planted("blocking_submit")) {
    stream.wait_until(task);
  }
}

} // namespace musa_standin::engine::cpu
