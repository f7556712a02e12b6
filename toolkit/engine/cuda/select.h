// SPDX-License-Identifier: Apache-2.0
// What the operators that select, sort or scatter want of workspace.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include <cstddef>

namespace musa_standin::engine::cuda {

// Of nonzero and masked_select, whichever the elements' type.
size_t select_workspace_bytes(const View& in);

} // namespace musa_standin::engine::cuda
