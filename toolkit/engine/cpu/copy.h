// SPDX-License-Identifier: Apache-2.0
// Copies and fills as tasks.
#pragma once

#include "toolkit/engine/cpu/stream.h"
#include "toolkit/engine/runtime.h"

namespace musa_standin::engine::cpu {

// `blocking`: return when the host may use its side.  Pageable memory that a
// task would still read or write later makes any copy wait.
void copy(Stream& stream, const engine::Copy& copy, bool blocking);
void fill(Stream& stream, const engine::Fill& fill);

} // namespace musa_standin::engine::cpu
