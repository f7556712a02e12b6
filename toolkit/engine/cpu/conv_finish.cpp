// SPDX-License-Identifier: Apache-2.0
// What follows a convolution.
#include "toolkit/engine/cpu/conv_finish.h"

#include "toolkit/engine/cpu/floating.h"
#include "toolkit/kernels/math.h"

#include <algorithm>

namespace musa_standin::engine::cpu {
namespace {

using kernels::narrow;
using kernels::widen;

float activate(const ConvFinish& f, float x) {
  switch (f.activation) {
  case Activation::kSigmoid:
    return kernels::sigmoid(x);
  case Activation::kRelu:
    return x < 0 ? 0 : x;
  case Activation::kTanh:
    return kernels::tanh(x);
  case Activation::kClippedRelu: {
    const auto ceiling = static_cast<float>(f.coef[0]);
    return x < 0 ? 0 : (x > ceiling ? ceiling : x);
  }
  case Activation::kElu:
    return x > 0 ? x : static_cast<float>(f.coef[0]) * kernels::expm1(x);
  case Activation::kHardSwish:
    return x * std::min(std::max(x + 3.0F, 0.0F), 6.0F) / 6.0F;
  case Activation::kSilu:
    return x * kernels::sigmoid(x);
  default:
    return x;
  }
}

template <class T>
void finish(
    const ConvFinish& f,
    const float* in,
    T* out,
    int64_t begin,
    int64_t end) {
  const T* bias = reinterpret_cast<const T*>(f.bias);
  const T* add = reinterpret_cast<const T*>(f.add);
  if (f.nothing()) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = narrow<T>(in[i]);
    return;
  }
  for (int64_t at = begin; at < end; at += f.plane) {
    const int64_t last = std::min(at + f.plane, end);
    const float shift =
        bias != nullptr ? widen(bias[at / f.plane % f.channels]) : 0.0F;
    for (int64_t i = at; i < last; ++i) {
      const float sum = in[i] + shift + (add != nullptr ? widen(add[i]) : 0.0F);
      out[i] = narrow<T>(activate(f, sum));
    }
  }
}

} // namespace

ConvFinish make_finish(const ConvolutionArgs& args, const ConvShape& shape) {
  ConvFinish f;
  if (args.bias.present())
    f.bias = static_cast<const char*>(args.bias.address);
  if (args.add.present())
    f.add = static_cast<const char*>(args.add.address);
  f.activation = args.activation;
  std::copy_n(args.coef, 3, f.coef);
  f.channels = shape.oc;
  f.plane = shape.images == ImageOrder::kChannelsFirst ? shape.out_plane() : 1;
  return f;
}

void finish_images(
    const ConvFinish& f,
    Dtype dtype,
    const float* in,
    char* out,
    int64_t begin,
    int64_t end) {
  switch (dtype) {
  case Dtype::kHalf:
    return finish(f, in, reinterpret_cast<kernels::Half*>(out), begin, end);
  case Dtype::kBfloat16:
    return finish(f, in, reinterpret_cast<kernels::Bfloat16*>(out), begin, end);
  default:
    return finish(f, in, reinterpret_cast<float*>(out), begin, end);
  }
}

} // namespace musa_standin::engine::cpu
