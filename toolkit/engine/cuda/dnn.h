// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's operator families; each family's file defines its own.
#pragma once

#include "toolkit/engine/dnn.h"

namespace musa_standin::engine::cuda {

class CudaDnn final : public Dnn {
 public:
  // Not this namespace's class of the same name.
  using Stream = engine::Stream;

  void fail(Stream& stream, musaError_t code, const char* name) override;
};

} // namespace musa_standin::engine::cuda
