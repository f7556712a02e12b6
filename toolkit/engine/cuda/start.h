// SPDX-License-Identifier: Apache-2.0
// How many devices there are, and what the first use of CUDA brings to life.
#pragma once

namespace musa_standin::engine::cuda {

// Counts the devices, on first use: fork and exit are watched from then on.
// Fills g_ordinals. 0 on a machine without a device or without a driver, which
// one printed sentence tells apart.
int device_count();

// For exit: no call goes to CUDA any more.
void stop_engine() noexcept;

} // namespace musa_standin::engine::cuda
