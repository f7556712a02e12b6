// SPDX-License-Identifier: Apache-2.0
// Workspace for muDNN out of the caching allocator, in stream order.
#pragma once

#include "csrc/mudnn/mudnn.h"

namespace torch_fl::mudnn {

// What a muDNN Run takes as its last argument. Memory is released on the host
// as soon as Run returns; the allocator reuses it in stream order.
::musa::dnn::MemoryMaintainer workspace();

} // namespace torch_fl::mudnn
