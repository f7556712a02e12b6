// SPDX-License-Identifier: Apache-2.0
// Callers' functions as tasks of a stream.
#pragma once

#include "toolkit/engine/cpu/stream.h"

#include "toolkit/include/driver_types.h"

namespace musa_standin::engine::cpu {

// The function may take as long as it likes, and may not call the runtime.
void launch_host_function(Stream& stream, musaHostFn_t function, void* data);
void add_callback(
    Stream& stream,
    musaStream_t handle,
    musaStreamCallback_t callback,
    void* data);

} // namespace musa_standin::engine::cpu
