// SPDX-License-Identifier: Apache-2.0
// The caching allocator of device memory, registered with torch.
#pragma once

#include "csrc/runtime/stream.h"

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>

namespace torch_fl::allocator {

// Memory is ordered on the stream that was current when it was allocated.
// Never destroyed.
FL_API c10::DeviceAllocator* device_allocator();

// The same without the virtual call, on a given stream of the current device.
FL_API c10::DataPtr allocate(size_t bytes, const runtime::Stream& stream);

// Keeps the memory from reuse until the stream's present work is done.
FL_API void record_stream(
    const c10::DataPtr& data,
    const runtime::Stream& stream);

// Returns unused segments of one device (-1: of all) to the runtime.
FL_API void empty_cache(c10::DeviceIndex device = -1);

// Caps what this process reserves on a device, as a part of its memory.
FL_API void set_memory_fraction(double fraction, c10::DeviceIndex device);
FL_API double memory_fraction(c10::DeviceIndex device);

// Reports every allocation to torch's profiler; costs time, so off by default.
FL_API void report_to_profiler(bool on) noexcept;

} // namespace torch_fl::allocator
