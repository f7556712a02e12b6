// SPDX-License-Identifier: Apache-2.0
// The CPU engine's operator families: the one object, and planned failure.
#include "toolkit/engine/cpu/dnn.h"

#include "toolkit/engine/cpu/stream.h"
#include "toolkit/engine/error.h"

namespace musa_standin::engine {

Dnn& dnn() {
  static cpu::CpuDnn instance;
  return instance;
}

namespace cpu {

void CpuDnn::fail(engine::Stream& stream, musaError_t code, const char* name) {
  submit(stream, name, [code] { throw Error(code, error_text(code)); });
}

} // namespace cpu

} // namespace musa_standin::engine
