// SPDX-License-Identifier: Apache-2.0
// The caching allocator of pinned host memory, registered with torch.
#pragma once

#include "csrc/runtime/stream.h"

#include <ATen/core/CachingHostAllocator.h>

namespace torch_fl::allocator {

// Never destroyed.
FL_API at::HostAllocator* host_allocator();

// Whether an address lies in pinned memory, ours or somebody else's.
FL_API bool is_pinned(const void* host_pointer);

// Keeps pinned memory of ours from reuse until the stream's present work is
// done. `context` is the DataPtr's context, or null; memory that is not ours is
// left alone.
FL_API void record_event(
    const void* host_pointer,
    void* context,
    const runtime::Stream& stream);

// For captures: see DevicePool.
void settle_host();
void free_deferred_host() noexcept;

} // namespace torch_fl::allocator
