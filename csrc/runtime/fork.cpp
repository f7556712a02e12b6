// SPDX-License-Identifier: Apache-2.0
// Notices that this process is a forked child of one that used devices.
#include "csrc/runtime/fork.h"

#include "csrc/runtime/device.h"

#include <pthread.h>

namespace torch_fl::runtime {

std::atomic<bool> bad_fork{false};

namespace {

void after_fork_in_child() {
  if (is_initialized()) {
    bad_fork.store(true, std::memory_order_relaxed);
  }
}

// Registered as the library loads; it is never unloaded.
const int kRegistered = pthread_atfork(nullptr, nullptr, &after_fork_in_child);

} // namespace

bool watches_forks() noexcept {
  return kRegistered == 0;
}

} // namespace torch_fl::runtime
