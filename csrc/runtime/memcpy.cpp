// SPDX-License-Identifier: Apache-2.0
// Submits copies and fills.
#include "csrc/runtime/memcpy.h"

namespace torch_fl::runtime {
namespace {

c10::DeviceIndex index_of(const c10::Device& device) {
  return device.has_index() ? device.index() : current_device();
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
