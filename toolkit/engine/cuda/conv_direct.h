// SPDX-License-Identifier: Apache-2.0
// Convolution as its definition says, for what cuDNN has no engine for.
#pragma once

#include "toolkit/engine/cuda/conv_problem.h"

namespace musa_standin::engine {
class Stream;
}

namespace musa_standin::engine::cuda {

void convolve_directly(
    engine::Stream& stream,
    const ConvKey& key,
    const ConvPointers& pointers);

} // namespace musa_standin::engine::cuda
