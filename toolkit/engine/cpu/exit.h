// SPDX-License-Identifier: Apache-2.0
// How the engine ends: before the process takes apart what its tasks use.
#pragma once

namespace musa_standin::engine::cpu {

// The running tasks end, the rest is dropped, waiting threads are released.
void stop_engine() noexcept;

// Has the process's exit call stop_engine().
void arm_exit();

} // namespace musa_standin::engine::cpu
