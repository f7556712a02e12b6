// SPDX-License-Identifier: Apache-2.0
// Whether this process is a forked child of one that used devices.
#pragma once

#include "csrc/runtime/export.h"

#include <atomic>

namespace torch_fl::runtime {

extern FL_API std::atomic<bool> bad_fork;

// In such a child no device can be used; CPU work goes on.
inline bool is_in_bad_fork() noexcept {
  return bad_fork.load(std::memory_order_relaxed);
}

// Whether the handler that notices forks could be registered.
FL_API bool watches_forks() noexcept;

} // namespace torch_fl::runtime
