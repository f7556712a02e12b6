// SPDX-License-Identifier: Apache-2.0
// What the first use of a device brings to life.
#pragma once

namespace musa_standin::engine::cpu {

// Reserves the addresses, tells fork and exit; once.  Throws Error when the
// environment is malformed or the system refuses.
void start_engine();
bool engine_started();

} // namespace musa_standin::engine::cpu
