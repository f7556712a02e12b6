// SPDX-License-Identifier: Apache-2.0
// What an engine that does not run such kernels answers.
#include "toolkit/engine/kernel.h"

#include "toolkit/engine/error.h"

namespace musa_standin::engine {

void KernelEngine::for_each(Stream& /*stream*/, const ElementTask& /*task*/) {
  throw Error(
      musaErrorNotSupported,
      "this engine's kernels are not functions of the host");
}

void KernelEngine::fail(musaError_t code, const char* message) {
  throw Error(code, message);
}

void* KernelEngine::error_word(Stream& /*stream*/) {
  throw Error(
      musaErrorNotSupported,
      "this engine's kernels tell errors without a word");
}

void* KernelEngine::native_stream(Stream& /*stream*/) {
  throw Error(
      musaErrorNotSupported,
      "this engine's streams have no handle of their own");
}

} // namespace musa_standin::engine
