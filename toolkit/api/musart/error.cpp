// SPDX-License-Identifier: Apache-2.0
// Error names, sentences, and the thread's last error.
#include "toolkit/api/call.h"

#include "toolkit/include/musa_runtime_api.h"

namespace engine = musa_standin::engine;

musaError_t musaGetLastError(void) {
  const musaError_t code = engine::t_state.last_error;
  // A device that refuses all work says so until it is reset.
  if (!engine::is_sticky(code) ||
      engine::runtime().sticky_error(engine::t_state.device) != code) {
    engine::t_state.last_error = musaSuccess;
  }
  return code;
}

musaError_t musaPeekAtLastError(void) {
  return engine::t_state.last_error;
}

const char* musaGetErrorName(musaError_t error) {
  return engine::error_name(error);
}

const char* musaGetErrorString(musaError_t error) {
  return engine::error_text(error);
}
