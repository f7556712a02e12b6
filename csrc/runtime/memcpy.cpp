// SPDX-License-Identifier: Apache-2.0
// Submits copies and fills.
#include "csrc/runtime/memcpy.h"

#include "csrc/runtime/graph.h"

namespace torch_fl::runtime {
namespace {

c10::DeviceIndex index_of(const c10::Device& device) {
  return device.has_index() ? device.index() : current_device();
}

// A replay would read or write the memory again, when it is long gone or in
// the middle of the program's own use.
void require_repeatable(const void* host, const Stream& stream) {
  if (capture_id(stream.handle()) == 0) {
    return;
  }
  musaPointerAttributes attributes{};
  FL_MUSA_CHECK(musaPointerGetAttributes(&attributes, host));
  TORCH_CHECK(
      attributes.type != musaMemoryTypeUnregistered,
      "a graph that is being captured cannot copy between flagos and memory of "
      "the CPU that is not pinned, as .item(), .cpu() and tensors made from "
      "numbers do: move the copy out of the capture, or use pinned tensors "
      "with non_blocking=True.");
}

} // namespace

void copy_async(
    void* dst,
    c10::Device dst_device,
    const void* src,
    c10::Device src_device,
    size_t bytes,
    const Stream& stream) {
  if (bytes == 0) {
    return;
  }
  const bool to_device = dst_device.is_privateuseone();
  const bool from_device = src_device.is_privateuseone();
  TORCH_INTERNAL_ASSERT(
      (to_device || dst_device.is_cpu()) &&
          (from_device || src_device.is_cpu()) && (to_device || from_device),
      "copy_async from ",
      src_device,
      " to ",
      dst_device);
  const DeviceScope scope(stream.device());
  if (to_device && from_device &&
      index_of(dst_device) != index_of(src_device)) {
    FL_MUSA_CHECK(musaMemcpyPeerAsync(
        dst,
        index_of(dst_device),
        src,
        index_of(src_device),
        bytes,
        stream.handle()));
    return;
  }
  if (C10_UNLIKELY(captures_underway()) && to_device != from_device) {
    require_repeatable(to_device ? src : dst, stream);
  }
  musaMemcpyKind kind = musaMemcpyDeviceToDevice;
  if (!from_device) {
    kind = musaMemcpyHostToDevice;
  } else if (!to_device) {
    kind = musaMemcpyDeviceToHost;
  }
  FL_MUSA_CHECK(musaMemcpyAsync(dst, src, bytes, kind, stream.handle()));
}

void fill_async(void* dst, int byte_value, size_t bytes, const Stream& stream) {
  if (bytes == 0) {
    return;
  }
  const DeviceScope scope(stream.device());
  FL_MUSA_CHECK(musaMemsetAsync(dst, byte_value, bytes, stream.handle()));
}

} // namespace torch_fl::runtime
