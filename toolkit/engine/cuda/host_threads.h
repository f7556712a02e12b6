// SPDX-License-Identifier: Apache-2.0
// Threads that run callers' functions: as many as there are functions that run.
#pragma once

namespace musa_standin::engine::cuda {

struct HostCall;

// Has run_call(call) run on some thread, soon; never fails and never waits.
void post_call(HostCall* call) noexcept;
// host_function.cpp's.
void run_call(HostCall* call) noexcept;

} // namespace musa_standin::engine::cuda
