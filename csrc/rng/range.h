// SPDX-License-Identifier: Apache-2.0
// The end of a half-open range in the numbers of a narrow dtype.
#pragma once

#include <c10/core/ScalarType.h>

namespace torch_fl::rng {

// The largest value of a floating dtype that is less than `limit`.
double largest_below(double limit, c10::ScalarType type);

} // namespace torch_fl::rng
