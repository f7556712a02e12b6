// SPDX-License-Identifier: Apache-2.0
// Callers' functions as work of a stream.
#pragma once

#include "toolkit/engine/cuda/stream.h"

#include "toolkit/include/driver_types.h"

#include <chrono>

namespace musa_standin::engine::cuda {

class Device;

// The function may take as long as it likes, and may not call the runtime. It
// runs on a thread of the engine's: CUDA has one for all streams, and a
// function that waits there would hold every other stream's.
void launch_host_function(Stream& stream, musaHostFn_t function, void* data);
void add_callback(
    Stream& stream,
    musaStream_t handle,
    musaStreamCallback_t callback,
    void* data);

// Until none of the device's runs or waits for a thread, or until the deadline.
// Returns at once inside one.
using Deadline = std::chrono::steady_clock::time_point;
void wait_for_host_functions(
    const Device& device,
    Deadline deadline = Deadline::max()) noexcept;

} // namespace musa_standin::engine::cuda
