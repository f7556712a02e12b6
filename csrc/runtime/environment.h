// SPDX-License-Identifier: Apache-2.0
// Environment variables, read with one sentence for a malformed one.
#pragma once

#include "csrc/runtime/export.h"

namespace torch_fl::runtime {

// 0 or 1; unset or empty gives the default. Anything else throws, naming the
// variable, its value and what is allowed.
FL_API bool environment_flag(const char* name, bool otherwise = false);

} // namespace torch_fl::runtime
