// SPDX-License-Identifier: Apache-2.0
// Copies and fills.
#pragma once

#include "toolkit/engine/cuda/stream.h"

namespace musa_standin::engine::cuda {

void copy(Stream& stream, const engine::Copy& copy, bool blocking);
void fill(Stream& stream, const engine::Fill& fill);

} // namespace musa_standin::engine::cuda
