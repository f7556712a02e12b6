// SPDX-License-Identifier: Apache-2.0
// Whether this process is a forked child of one that used devices.
#pragma once

#include "csrc/runtime/export.h"

namespace torch_fl::runtime {

// In such a child no device can be used; CPU work goes on.
FL_API bool is_in_bad_fork() noexcept;

// Whether the handler that notices forks could be registered.
FL_API bool watches_forks() noexcept;

} // namespace torch_fl::runtime
