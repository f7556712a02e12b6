// SPDX-License-Identifier: Apache-2.0
// What the first use of a device brings to life.
#pragma once

namespace musa_standin::engine::cpu {

// Reserves the addresses, tells fork and exit; once.  Throws Error when the
// environment is malformed or the system refuses.
void start_engine();
bool engine_started();

// Throws InitializationError for a malformed environment variable, and prints
// its sentence once.
void check_environment();

} // namespace musa_standin::engine::cpu
