// SPDX-License-Identifier: Apache-2.0
// A forked child has none of the engine's threads and none of its memory.
#pragma once

namespace musa_standin::engine::cpu {

// From now on a forked child's device calls return
// musaErrorInitializationError at once.
void watch_fork();

} // namespace musa_standin::engine::cpu
