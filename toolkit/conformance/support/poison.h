// SPDX-License-Identifier: Apache-2.0
// Makes device 0 sticky: the vendor's hang on negative strides (muDNN facts,
// 3) is a sticky musaErrorLaunchFailure on the portable engines.
#pragma once

#include "support/musa.h"

namespace conformance {

// Queues the failing work on the stream; returns before it has failed.
void poison(musaStream_t stream);

} // namespace conformance
