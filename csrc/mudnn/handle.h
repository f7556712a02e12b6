// SPDX-License-Identifier: Apache-2.0
// The calling thread's muDNN handle, bound to its current device and stream.
#pragma once

#include "csrc/mudnn/mudnn.h"
#include "csrc/runtime/thread_state.h"

#include <c10/macros/Macros.h>

namespace torch_fl::mudnn {

// The thread's handle of its current device; valid in this thread only.
struct HandleSlot {
  ::musa::dnn::Handle* handle = nullptr;
  musaStream_t stream = nullptr;
  c10::DeviceIndex device = -1;
  bool tf32 = false;
};

extern FL_CONSTINIT_THREAD_LOCAL HandleSlot handle_slot
    __attribute__((tls_model("initial-exec")));

// Makes or finds the handle, and binds it to the current stream.
::musa::dnn::Handle& bind_handle();

// For products and convolutions: TF32 follows torch's matmul flag, read anew at
// every call (a new muDNN handle has TF32 on).
::musa::dnn::Handle& handle();

// For everything that TF32 cannot touch (elementwise, reductions, copies...):
// two loads.
inline ::musa::dnn::Handle& plain_handle() {
  const runtime::ThreadState& now = runtime::thread_state;
  const HandleSlot& slot = handle_slot;
  if (C10_LIKELY(slot.device == now.device && slot.stream == now.stream)) {
    return *slot.handle;
  }
  return bind_handle();
}

} // namespace torch_fl::mudnn
