// SPDX-License-Identifier: Apache-2.0
// Bias, addend and activation after a convolution.
#include "toolkit/engine/cuda/conv_kernels.h"

#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/pack.h"
#include "toolkit/kernels/math.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

using kernels::Bfloat16;
using kernels::Half;
using kernels::Wide;

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 1 << 16;

template <class W>
__device__ W activate(Activation activation, W coef, W x) {
  switch (activation) {
  case Activation::kSigmoid:
    return kernels::sigmoid(x);
  case Activation::kRelu:
    return x < 0 ? 0 : x;
  case Activation::kTanh:
    return kernels::tanh(x);
  case Activation::kClippedRelu:
    return x < 0 ? 0 : (x > coef ? coef : x);
  case Activation::kElu:
    return x > 0 ? x : coef * kernels::expm1(x);
  case Activation::kHardSwish: {
    const W shifted = x + 3;
    return x * (shifted < 0 ? 0 : (shifted > 6 ? 6 : shifted)) / 6;
  }
  case Activation::kSilu:
    return x * kernels::sigmoid(x);
  default:
    return x;
  }
}

// V elements a thread; all of one channel or of V channels in a row, as V
// divides plane or, where that is 1, channels.
template <class T, int V>
__global__ void __launch_bounds__(kThreads) finish(ConvFinish f) {
  using W = Wide<T>;
  const W coef = static_cast<W>(f.coef);
  const T* bias = static_cast<const T*>(f.bias);
  const T* add = static_cast<const T*>(f.add);
  T* out = static_cast<T*>(f.out);
  const int64_t step = int64_t{gridDim.x} * kThreads * V;
  for (int64_t at = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * V;
       at < f.numel;
       at += step) {
    W value[V];
    load_wide<V>(out + at, value);
    if (bias != nullptr) {
      const int64_t channel = at / f.plane % f.channels;
#pragma unroll
      for (int i = 0; i < V; ++i)
        value[i] += wide_of(bias[f.plane == 1 ? channel + i : channel]);
    }
    if (add != nullptr) {
      W addend[V];
      load_wide<V>(add + at, addend);
#pragma unroll
      for (int i = 0; i < V; ++i)
        value[i] += addend[i];
    }
#pragma unroll
    for (int i = 0; i < V; ++i)
      value[i] = activate(f.activation, coef, value[i]);
    store_wide<V>(out + at, value);
  }
}

template <class T, int V>
void launch_finish(engine::Stream& stream, const ConvFinish& f) {
  const int64_t each = int64_t{kThreads} * V;
  const int64_t blocks = std::min((f.numel + each - 1) / each, kMostBlocks);
  launch(stream, finish<T, V>, static_cast<unsigned>(blocks), kThreads, 0, f);
}

template <class T>
void run(engine::Stream& stream, const ConvFinish& f) {
  constexpr int kV = kPack<T>;
  const bool whole = (f.plane == 1 ? f.channels : f.plane) % kV == 0 &&
      packable(f.out) && packable(f.add);
  if (whole)
    launch_finish<T, kV>(stream, f);
  else
    launch_finish<T, 1>(stream, f);
}

} // namespace

void finish_convolution(engine::Stream& stream, const ConvFinish& f) {
  switch (f.dtype) {
  case Dtype::kHalf:
    return run<Half>(stream, f);
  case Dtype::kBfloat16:
    return run<Bfloat16>(stream, f);
  case Dtype::kDouble:
    return run<double>(stream, f);
  default:
    return run<float>(stream, f);
  }
}

} // namespace musa_standin::engine::cuda
