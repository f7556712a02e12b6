// SPDX-License-Identifier: Apache-2.0
// What follows a convolution, by kernels of our own.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine {
class Stream;
}

namespace musa_standin::engine::cuda {

// out = activation(out + bias of the element's channel + add), dense. bias and
// add may be null. Channel of element i: i / plane % channels.
struct ConvFinish {
  Dtype dtype;
  Activation activation;
  int64_t numel;
  int64_t channels;
  int64_t plane; // 1 where channels are last
  const void* bias;
  const void* add;
  void* out;
  double coef;

  [[nodiscard]] bool nothing() const {
    return bias == nullptr && add == nullptr &&
        activation == Activation::kIdentity;
  }
};
void finish_convolution(Stream& stream, const ConvFinish& f);

} // namespace musa_standin::engine::cuda
