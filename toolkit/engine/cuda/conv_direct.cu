// SPDX-License-Identifier: Apache-2.0
// Convolution as its definition says: a thread for each element of a result, a
// block for each element of a filter's gradient. Slow, but for all operands.
#include "toolkit/engine/cuda/conv_direct.h"

#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/pack.h"
#include "toolkit/engine/dnn_types.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

using kernels::Bfloat16;
using kernels::Half;
using kernels::Wide;

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 1 << 20;
constexpr int kDims = 2 + kMaxSpatial;

// dims and strides: batch or output channels, channels, depth, height, width.
struct Operand {
  void* address;
  int64_t dims[kDims];
  int64_t strides[kDims];
  int64_t numel;
};

struct Direct {
  Operand in;
  Operand filter;
  Operand out;
  int64_t out_each; // channels of a group
  int64_t pad[kMaxSpatial];
  int64_t stride[kMaxSpatial];
  int64_t dilation[kMaxSpatial];
};

__device__ void split(const Operand& o, int64_t at, int64_t (&index)[kDims]) {
  for (int i = kDims - 1; i >= 0; --i) {
    index[i] = at % o.dims[i];
    at /= o.dims[i];
  }
}

__device__ int64_t offset(const Operand& o, const int64_t (&index)[kDims]) {
  int64_t at = 0;
  for (int i = 0; i < kDims; ++i)
    at += index[i] * o.strides[i];
  return at;
}

template <class T>
__device__ Wide<T> load(const Operand& o, const int64_t (&index)[kDims]) {
  return wide_of(static_cast<const T*>(o.address)[offset(o, index)]);
}

// f(tap) for the window's places.
template <class F>
__device__ void for_taps(const Direct& c, F&& f) {
  int64_t tap[kMaxSpatial];
  for (tap[0] = 0; tap[0] < c.filter.dims[2]; ++tap[0]) {
    for (tap[1] = 0; tap[1] < c.filter.dims[3]; ++tap[1]) {
      for (tap[2] = 0; tap[2] < c.filter.dims[4]; ++tap[2])
        f(tap);
    }
  }
}

// Where in `in` the tap of an output place lies; false: in the padding.
__device__ bool source(
    const Direct& c,
    const int64_t* place,
    const int64_t (&tap)[kMaxSpatial],
    int64_t* found) {
  bool inside = true;
  for (int i = 0; i < kMaxSpatial; ++i) {
    found[i] = place[i] * c.stride[i] - c.pad[i] + tap[i] * c.dilation[i];
    inside = inside && found[i] >= 0 && found[i] < c.in.dims[2 + i];
  }
  return inside;
}

// Which output place the tap of an input place belongs to; false: none.
__device__ bool target(
    const Direct& c,
    const int64_t* place,
    const int64_t (&tap)[kMaxSpatial],
    int64_t* found) {
  bool inside = true;
  for (int i = 0; i < kMaxSpatial; ++i) {
    const int64_t at = place[i] + c.pad[i] - tap[i] * c.dilation[i];
    found[i] = at / c.stride[i];
    inside = inside && at >= 0 && at % c.stride[i] == 0 &&
        found[i] < c.out.dims[2 + i];
  }
  return inside;
}

template <class T>
__device__ Wide<T> forward_sum(const Direct& c, const int64_t (&o)[kDims]) {
  Wide<T> sum = 0;
  const int64_t first = o[1] / c.out_each * c.filter.dims[1];
  for_taps(c, [&](const int64_t(&tap)[kMaxSpatial]) {
    int64_t i[kDims] = {o[0]};
    if (!source(c, o + 2, tap, i + 2))
      return;
    int64_t f[kDims] = {o[1], 0, tap[0], tap[1], tap[2]};
    for (; f[1] < c.filter.dims[1]; ++f[1]) {
      i[1] = first + f[1];
      sum += load<T>(c.in, i) * load<T>(c.filter, f);
    }
  });
  return sum;
}

template <class T>
__device__ Wide<T> backward_sum(const Direct& c, const int64_t (&i)[kDims]) {
  Wide<T> sum = 0;
  const int64_t first = i[1] / c.filter.dims[1] * c.out_each;
  for_taps(c, [&](const int64_t(&tap)[kMaxSpatial]) {
    int64_t o[kDims] = {i[0]};
    if (!target(c, i + 2, tap, o + 2))
      return;
    int64_t f[kDims] = {first, i[1] % c.filter.dims[1], tap[0], tap[1], tap[2]};
    for (; f[0] < first + c.out_each; ++f[0]) {
      o[1] = f[0];
      sum += load<T>(c.out, o) * load<T>(c.filter, f);
    }
  });
  return sum;
}

template <class T, bool Forward>
__global__ void __launch_bounds__(kThreads) convolve(Direct c) {
  const Operand& result = Forward ? c.out : c.in;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
       at < result.numel;
       at += step) {
    int64_t index[kDims];
    split(result, at, index);
    const Wide<T> sum =
        Forward ? forward_sum<T>(c, index) : backward_sum<T>(c, index);
    static_cast<T*>(result.address)[offset(result, index)] = narrow_of<T>(sum);
  }
}

// A thread's part of the sum for one element of the filter.
template <class T>
__device__ Wide<T> filter_sum(const Direct& c, const int64_t (&f)[kDims]) {
  Wide<T> sum = 0;
  const int64_t tap[kMaxSpatial] = {f[2], f[3], f[4]};
  const int64_t channel = f[0] / c.out_each * c.filter.dims[1] + f[1];
  const int64_t places =
      c.out.dims[0] * c.out.dims[2] * c.out.dims[3] * c.out.dims[4];
  for (int64_t at = threadIdx.x; at < places; at += kThreads) {
    int64_t o[kDims];
    int64_t rest = at;
    for (int d = kDims - 1; d >= 2; --d) {
      o[d] = rest % c.out.dims[d];
      rest /= c.out.dims[d];
    }
    o[0] = rest;
    o[1] = f[0];
    int64_t i[kDims] = {rest, channel};
    if (source(c, o + 2, tap, i + 2))
      sum += load<T>(c.in, i) * load<T>(c.out, o);
  }
  return sum;
}

template <class T>
__global__ void __launch_bounds__(kThreads) convolve_filter(Direct c) {
  __shared__ double sums[kThreads];
  for (int64_t at = blockIdx.x; at < c.filter.numel; at += gridDim.x) {
    int64_t index[kDims];
    split(c.filter, at, index);
    sums[threadIdx.x] = static_cast<double>(filter_sum<T>(c, index));
    for (unsigned half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half)
        sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
      static_cast<T*>(c.filter.address)[offset(c.filter, index)] =
          narrow_of<T>(static_cast<Wide<T>>(sums[0]));
    __syncthreads();
  }
}

Operand make_operand(
    void* address,
    int spatial,
    int64_t first,
    int64_t channels,
    const int64_t (&sizes)[kMaxSpatial],
    bool channels_last) {
  Operand o{};
  o.address = address;
  o.dims[0] = first;
  o.dims[1] = channels;
  o.numel = first * channels;
  int64_t step = channels_last ? channels : 1;
  for (int i = kMaxSpatial - 1; i >= 0; --i) {
    const int from = i - (kMaxSpatial - spatial);
    o.dims[2 + i] = from >= 0 ? sizes[from] : 1;
    o.strides[2 + i] = step;
    step *= o.dims[2 + i];
    o.numel *= o.dims[2 + i];
  }
  o.strides[1] = channels_last ? 1 : step;
  o.strides[0] = channels_last ? step : step * channels;
  return o;
}

Direct make_direct(const ConvKey& key, const ConvPointers& p) {
  const bool last = key.images_last != 0;
  const int spatial = key.spatial;
  Direct c{};
  c.in = make_operand(p.in, spatial, key.n, key.ic, key.in, last);
  c.filter = make_operand(
      p.filter,
      spatial,
      key.oc,
      key.ic / key.groups,
      key.kernel,
      key.filter_last != 0);
  c.out = make_operand(p.out, spatial, key.n, key.oc, key.out, last);
  c.out_each = key.oc / key.groups;
  for (int i = 0; i < kMaxSpatial; ++i) {
    const int from = i - (kMaxSpatial - spatial);
    c.pad[i] = from >= 0 ? key.pad[from] : 0;
    c.stride[i] = from >= 0 ? key.stride[from] : 1;
    c.dilation[i] = from >= 0 ? key.dilation[from] : 1;
  }
  return c;
}

template <class T>
void run(engine::Stream& stream, ConvPass pass, const Direct& c) {
  const auto grid = [](int64_t blocks) {
    return static_cast<unsigned>(std::min(blocks, kMostBlocks));
  };
  const auto threads = [&](int64_t n) {
    return grid((n + kThreads - 1) / kThreads);
  };
  switch (pass) {
  case ConvPass::kForward:
    return launch(
        stream,
        convolve<T, true>,
        threads(c.out.numel),
        kThreads,
        0,
        c);
  case ConvPass::kBackwardData:
    return launch(
        stream,
        convolve<T, false>,
        threads(c.in.numel),
        kThreads,
        0,
        c);
  default:
    return launch(
        stream,
        convolve_filter<T>,
        grid(c.filter.numel),
        kThreads,
        0,
        c);
  }
}

} // namespace

void convolve_directly(
    engine::Stream& stream,
    const ConvKey& key,
    const ConvPointers& pointers) {
  const Direct c = make_direct(key, pointers);
  switch (static_cast<Dtype>(key.dtype)) {
  case Dtype::kFloat:
    return run<float>(stream, key.pass, c);
  case Dtype::kHalf:
    return run<Half>(stream, key.pass, c);
  case Dtype::kBfloat16:
    return run<Bfloat16>(stream, key.pass, c);
  case Dtype::kDouble:
    return run<double>(stream, key.pass, c);
  default:
    throw Error(
        musaErrorNotSupported,
        "Convolution: the engine convolves floating types alone");
  }
}

} // namespace musa_standin::engine::cuda
