// SPDX-License-Identifier: Apache-2.0
// Callers' functions as work of a stream.
#pragma once

#include "toolkit/engine/cuda/stream.h"

#include "toolkit/include/driver_types.h"

namespace musa_standin::engine::cuda {

// The function may take as long as it likes, and may not call the runtime.
void launch_host_function(Stream& stream, musaHostFn_t function, void* data);
void add_callback(
    Stream& stream,
    musaStream_t handle,
    musaStreamCallback_t callback,
    void* data);

// After the gate has closed: those that run end, the rest is dropped.
void wait_for_host_functions() noexcept;

} // namespace musa_standin::engine::cuda
