// SPDX-License-Identifier: Apache-2.0
// Copies and fills of plain bytes, in stream order.
#pragma once

#include "csrc/runtime/stream.h"

#include <c10/core/Device.h>

#include <cstddef>

namespace torch_fl::runtime {

// Submits a copy between host and device, within a device or between devices.
// Host memory that is not pinned may make the call wait; host to host throws.
FL_API void copy_async(
    void* dst,
    c10::Device dst_device,
    const void* src,
    c10::Device src_device,
    size_t bytes,
    const Stream& stream);

// Submits a fill of device memory with one byte value.
FL_API void
fill_async(void* dst, int byte_value, size_t bytes, const Stream& stream);

} // namespace torch_fl::runtime
