// SPDX-License-Identifier: Apache-2.0
// The caching allocator of device memory, registered with torch.
#pragma once

#include "csrc/runtime/stream.h"

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <cstdint>

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

// A number that no other pool of graphs has: made for one graph, or to be
// shared by several.
FL_API c10::MempoolId_t new_pool_id(bool shared);

// Around a capture, which this number names, once it is announced: what it
// allocates on any device is its pool's. The pool is held until a release.
FL_API void settle();
FL_API void begin_capture(c10::MempoolId_t pool, uint64_t capture);
FL_API void end_capture(uint64_t capture) noexcept;
// Memory for what is written before each replay: the graph's, but none that
// its own work writes at another time.
FL_API c10::DataPtr
allocate_beside(size_t bytes, c10::DeviceIndex device, uint64_t capture);
FL_API void release_pool(c10::MempoolId_t pool) noexcept;
// After the last capture: blocks that were freed during one.
FL_API void free_deferred() noexcept;

// Caps what this process reserves on a device, as a part of its memory.
FL_API void set_memory_fraction(double fraction, c10::DeviceIndex device);
FL_API double memory_fraction(c10::DeviceIndex device);

// Reports every allocation to torch's profiler; costs time, so off by default.
FL_API void report_to_profiler(bool on) noexcept;

} // namespace torch_fl::allocator
