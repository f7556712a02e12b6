// SPDX-License-Identifier: Apache-2.0
// What follows a convolution: bias, addend, activation, rounding.
#pragma once

#include "toolkit/engine/cpu/conv_plan.h"
#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

// bias and add have the result's type; null where absent.
struct ConvFinish {
  const char* bias = nullptr;
  const char* add = nullptr;
  Activation activation = Activation::kIdentity;
  double coef[3] = {0, 0, 0};
  int64_t channels = 1;
  int64_t plane = 1; // neighbouring elements of one channel

  [[nodiscard]] bool nothing() const {
    return bias == nullptr && add == nullptr &&
        activation == Activation::kIdentity;
  }
};

ConvFinish make_finish(const ConvolutionArgs& args, const ConvShape& shape);

// Elements [begin, end), whole images: out = activation(in + bias + add) in
// out's type. in may be out.
void finish_images(
    const ConvFinish& finish,
    Dtype dtype,
    const float* in,
    char* out,
    int64_t begin,
    int64_t end);

} // namespace musa_standin::engine::cpu
