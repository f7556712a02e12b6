// SPDX-License-Identifier: Apache-2.0
// Copies and fills: checks, and CUDA's functions for what passes them.
#include "toolkit/engine/cuda/copy.h"

#include "toolkit/engine/cuda/copy_kernels.h"
#include "toolkit/engine/cuda/counters.h"
#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/graph_runtime.h"
#include "toolkit/engine/cuda/memory.h"

#include <cstdint>

namespace musa_standin::engine::cuda {
namespace {

// Longer pitches CUDA refuses; such rows go one by one.
constexpr size_t kMaxPitch = INT32_MAX;

// From the first to behind the last byte of all rows.
size_t extent(size_t width, size_t height, size_t pitch) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(pitch, height - 1, &bytes) ||
      __builtin_add_overflow(bytes, width, &bytes)) {
    throw Error(musaErrorInvalidValue, "the rows are beyond all memory");
  }
  return bytes;
}

bool of_device(Side side) {
  return side == Side::kDevice || side == Side::kPool;
}

bool fits(musaMemcpyKind kind, Side dst, Side src) {
  const bool to_host = !of_device(dst);
  const bool to_device = dst != Side::kPageable;
  const bool from_host = !of_device(src);
  const bool from_device = src != Side::kPageable;
  switch (kind) {
  case musaMemcpyHostToHost:
    return to_host && from_host;
  case musaMemcpyHostToDevice:
    return to_device && from_host;
  case musaMemcpyDeviceToHost:
    return to_host && from_device;
  case musaMemcpyDeviceToDevice:
    return to_device && from_device;
  case musaMemcpyDefault:
    break;
  }
  return true;
}

Side ask_unless_known(Side known, const void* pointer) {
  return known == Side::kPageable ? ask_side(pointer) : known;
}

void check_direction(const engine::Copy& copy, Side& dst, Side& src) {
  if (__builtin_expect(fits(copy.kind, dst, src), 1)) {
    return;
  }
  dst = ask_unless_known(dst, copy.dst);
  src = ask_unless_known(src, copy.src);
  if (!fits(copy.kind, dst, src)) {
    throw Error(
        musaErrorInvalidValue,
        "a pointer is not on the side that the copy's direction says");
  }
}

bool can_fill(const engine::Fill& fill) {
  const Side side =
      classify(fill.dst, extent(fill.width, fill.height, fill.pitch));
  return ask_unless_known(side, fill.dst) != Side::kPageable;
}

char* row_of(void* start, size_t pitch, size_t row) {
  return static_cast<char*>(start) + pitch * row;
}
const char* row_of(const void* start, size_t pitch, size_t row) {
  return static_cast<const char*>(start) + pitch * row;
}

bool is_dense(const engine::Copy& copy) {
  return copy.height == 1 ||
      (copy.width == copy.dst_pitch && copy.width == copy.src_pitch);
}

bool is_of(const void* pointer, int device) {
  Block block;
  return find_block(pointer, block) && block.device == device;
}

// A short copy within the stream's device. In a graph a copy has to look like
// one, so there it is CUDA's.
bool copy_by_kernel(Stream& stream, const engine::Copy& copy) {
  return is_dense(copy) && !captures_are_open() &&
      is_of(copy.dst, stream.device()) && is_of(copy.src, stream.device()) &&
      copy_line(stream, copy.dst, copy.src, copy.width * copy.height);
}

// The sides are known, so CUDA finds the direction by the addresses.
void enqueue_copy(cudaStream_t stream, const engine::Copy& copy) {
  if (is_dense(copy)) {
    check(cudaMemcpyAsync(
        copy.dst,
        copy.src,
        copy.width * copy.height,
        cudaMemcpyDefault,
        stream));
    return;
  }
  if (copy.dst_pitch <= kMaxPitch && copy.src_pitch <= kMaxPitch) {
    check(cudaMemcpy2DAsync(
        copy.dst,
        copy.dst_pitch,
        copy.src,
        copy.src_pitch,
        copy.width,
        copy.height,
        cudaMemcpyDefault,
        stream));
    return;
  }
  for (size_t row = 0; row < copy.height; ++row) {
    check(cudaMemcpyAsync(
        row_of(copy.dst, copy.dst_pitch, row),
        row_of(copy.src, copy.src_pitch, row),
        copy.width,
        cudaMemcpyDefault,
        stream));
  }
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
  if (copy.width == 0 || copy.height == 0) {
    return;
  }
  if (copy.dst == nullptr || copy.src == nullptr) {
    throw Error(musaErrorInvalidValue, "a pointer of the copy is null");
  }
  Side dst =
      classify(copy.dst, extent(copy.width, copy.height, copy.dst_pitch));
  Side src =
      classify(copy.src, extent(copy.width, copy.height, copy.src_pitch));
  check_direction(copy, dst, src);

  const cudaStream_t at = native(stream);
  const bool within = of_device(dst) && of_device(src);
  if (!within || !copy_by_kernel(stream, copy)) {
    enqueue_copy(at, copy);
  }
  // The host sees a copy within a device only when it asks for it. CUDA itself
  // holds the caller for pageable memory as long as it must.
  if (blocking && !within) {
    count(Counter::kWaits);
    check(cudaStreamSynchronize(at));
    device(stream.device()).throw_error();
  } else if (dst == Side::kPageable) {
    count(Counter::kWaits);
  }
}

void fill(Stream& stream, const engine::Fill& fill) {
  if (fill.height > 1 && fill.width > fill.pitch) {
    throw Error(musaErrorInvalidPitchValue, "a row is longer than its pitch");
  }
  if (fill.width == 0 || fill.height == 0) {
    return;
  }
  if (fill.dst == nullptr || !can_fill(fill)) {
    throw Error(
        musaErrorInvalidValue,
        "only memory of the device can be filled");
  }
  const cudaStream_t at = native(stream);
  if (fill.height == 1 || fill.width == fill.pitch) {
    check(cudaMemsetAsync(fill.dst, fill.value, fill.width * fill.height, at));
    return;
  }
  if (fill.pitch <= kMaxPitch) {
    check(cudaMemset2DAsync(
        fill.dst,
        fill.pitch,
        fill.value,
        fill.width,
        fill.height,
        at));
    return;
  }
  for (size_t row = 0; row < fill.height; ++row) {
    check(cudaMemsetAsync(
        row_of(fill.dst, fill.pitch, row),
        fill.value,
        fill.width,
        at));
  }
}

} // namespace musa_standin::engine::cuda
