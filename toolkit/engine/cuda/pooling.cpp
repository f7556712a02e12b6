// SPDX-License-Identifier: Apache-2.0
// Pooling on the CUDA engine: from the arguments to jobs of a size that the
// kernels take.
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/pooling_job.h"

#include "toolkit/engine/error.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;

bool channels_last(Layout layout) {
  return layout == Layout::kNwc || layout == Layout::kNhwc ||
      layout == Layout::kNdhwc;
}

bool is_adaptive(PoolingMode mode) {
  return mode == PoolingMode::kAdaptiveMax ||
      mode == PoolingMode::kAdaptiveAverage;
}

PoolExtent plain(int64_t in, int64_t out, int64_t kernel) {
  PoolExtent e;
  e.in = static_cast<int32_t>(in);
  e.out = static_cast<int32_t>(out);
  e.kernel = static_cast<int32_t>(kernel);
  e.stride = e.kernel;
  return e;
}

PoolExtent extent(const PoolingArgs& args, int i, int64_t in, int64_t out) {
  const bool adaptive = is_adaptive(args.mode);
  // What the kernels' index math may come to.
  const int64_t reach = adaptive || args.mode == PoolingMode::kGlobalAverage
      ? in * (out + 1) + out
      : (args.kernel[i] - 1) * int64_t{args.dilation[i]} + in +
          2 * int64_t{args.pad[i]} + int64_t{args.stride[i]} * (out + 1);
  if (in >= kLimit || out >= kLimit || reach >= kLimit)
    throw Error(musaErrorNotSupported, "pooling's windows reach over 2^31");
  if (args.mode == PoolingMode::kGlobalAverage)
    return plain(in, out, in);
  if (adaptive && in % out == 0)
    return plain(in, out, in / out);
  PoolExtent e = plain(in, out, 1);
  e.adaptive = adaptive;
  if (adaptive)
    return e;
  e.kernel = args.kernel[i];
  e.pad = args.pad[i];
  e.stride = args.stride[i];
  e.dilation = args.dilation[i];
  return e;
}

// One window over all of the plane is one over a line.
void join_axes(PoolJob& job) {
  for (const PoolExtent& e : job.axis) {
    if (e.out != 1 || e.kernel != e.in || e.pad != 0 || e.dilation != 1)
      return;
  }
  const int64_t positions = job.in_positions();
  if (positions < kLimit / 4)
    job.axis[2] = plain(positions, 1, positions);
  else
    return;
  job.axis[0] = job.axis[1] = PoolExtent{};
}

// Kernels count a window's positions in 31 bits, padding included.
void check_padding(const PoolJob& job) {
  double positions = 1;
  for (const PoolExtent& e : job.axis)
    positions *= e.in + 2.0 * e.pad;
  if (job.count_padding && positions >= static_cast<double>(kLimit))
    throw Error(musaErrorNotSupported, "pooling pads to 2^31 positions");
}

PoolJob make_job(const PoolingArgs& args) {
  const View& in = args.in;
  const View& out = args.out;
  const int spatial = in.rank - 2;
  if (spatial < 1 || spatial > 3 || out.rank != in.rank)
    throw Error(
        musaErrorNotSupported,
        "pooling has one to three spatial dimensions");
  PoolJob job{};
  job.dtype = in.dtype;
  job.maximum =
      args.mode == PoolingMode::kMax || args.mode == PoolingMode::kAdaptiveMax;
  job.count_padding = args.mode == PoolingMode::kAverageCountPad;
  job.divisor = args.divisor;
  const bool last = channels_last(in.layout);
  const int first = last ? 1 : 2;
  const int64_t depth = last ? in.dims[in.rank - 1] : 1;
  if (depth >= kLimit)
    throw Error(musaErrorNotSupported, "pooling has 2^31 channels at most");
  job.depth = static_cast<int32_t>(depth);
  job.planes = last ? in.dims[0] : in.dims[0] * in.dims[1];
  for (int i = 0; i < spatial; ++i)
    job.axis[3 - spatial + i] =
        extent(args, i, in.dims[first + i], out.dims[first + i]);
  job.in = in.address;
  job.out = out.address;
  job.indices = args.indices.present()
      ? static_cast<int64_t*>(args.indices.address)
      : nullptr;
  join_axes(job);
  check_padding(job);
  return job;
}

// Calls f with jobs of so many planes that elements can be counted in 31 bits.
template <class F>
void for_planes(const PoolJob& all, F&& f) {
  const int64_t in = all.in_positions() * all.depth;
  const int64_t out = all.out_positions() * all.depth;
  if (all.planes == 0 || in == 0 || out == 0)
    return;
  if (in >= kLimit || out >= kLimit)
    throw Error(musaErrorNotSupported, "pooling has planes below 2^31");
  const int64_t most = (kLimit - 1) / std::max(in, out);
  const int64_t bytes = element_bytes(all.dtype);
  for (int64_t at = 0; at < all.planes; at += most) {
    PoolJob job = all;
    job.planes = std::min(most, all.planes - at);
    job.in = static_cast<char*>(all.in) + at * in * bytes;
    job.out = static_cast<char*>(all.out) + at * out * bytes;
    if (all.indices != nullptr)
      job.indices = all.indices + at * out;
    f(job);
  }
}

} // namespace

void CudaDnn::pooling(Stream& stream, const PoolingArgs& args) {
  for_planes(make_job(args), [&](const PoolJob& job) {
    pooling_forward(stream, job);
  });
}

void CudaDnn::pooling_backward(Stream& stream, const PoolingArgs& args) {
  for_planes(make_job(args), [&](const PoolJob& job) {
    cuda::pooling_backward(stream, job);
  });
}

} // namespace musa_standin::engine::cuda
