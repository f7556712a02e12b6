// SPDX-License-Identifier: Apache-2.0
// What a thread has current: device and stream. Constant-initialised and
// initial-exec, so that reading it is one load without an initialisation guard.
#pragma once

#include "csrc/runtime/export.h"

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <musa_runtime.h>

#if defined(__cplusplus) && __cplusplus >= 202002L
#define FL_CONSTINIT_THREAD_LOCAL constinit thread_local
#else
#define FL_CONSTINIT_THREAD_LOCAL __thread
#endif

namespace torch_fl::runtime {

struct ThreadStreams;

struct ThreadState {
  // The stream that is current on `device`; null is the default stream.
  musaStream_t stream = nullptr;
  c10::StreamId stream_id = 0;
  // Current streams of the other devices; null while all are default.
  ThreadStreams* others = nullptr;
  c10::DeviceIndex device = 0;
  // Whether musart was told about `device` in this thread.
  bool bound = false;
};

extern FL_API FL_CONSTINIT_THREAD_LOCAL ThreadState thread_state
    __attribute__((tls_model("initial-exec")));

} // namespace torch_fl::runtime
