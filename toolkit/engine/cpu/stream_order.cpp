// SPDX-License-Identifier: Apache-2.0
// The rule of the legacy default stream: its work comes after all earlier work
// of the device's blocking streams, and before all later.
#include "toolkit/engine/cpu/device.h"
#include "toolkit/engine/cpu/stream.h"
#include "toolkit/engine/fault.h"

namespace musa_standin::engine::cpu {

// A mark is kept as followed only after its wait stands in the ring: who sees
// the one may rely on the other.  Two threads at once may add a wait twice.
void Stream::take_default_order() {
  if (planted("no_default_order")) {
    return;
  }
  if (order_ == Order::kBlocking) {
    const uint64_t tail = legacy_->submitted();
    wait_for({legacy_, tail});
    followed_.store(tail, std::memory_order_release);
    return;
  }
  // The list's lock is not held while a full ring holds this thread.
  for (const Mark& mark : owner_->blocking_tails()) {
    if (mark.task > mark.stream->taken_.load(std::memory_order_acquire)) {
      wait_for(mark);
      mark.stream->taken_.store(mark.task, std::memory_order_release);
    }
  }
}

} // namespace musa_standin::engine::cpu
