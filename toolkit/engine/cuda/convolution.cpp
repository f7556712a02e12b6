// SPDX-License-Identifier: Apache-2.0
// Convolution on the CUDA engine: cuDNN's engines by number, 0 being the first
// that is deterministic.
#include "toolkit/engine/cuda/check.h"
#include "toolkit/engine/cuda/conv_direct.h"
#include "toolkit/engine/cuda/conv_kernels.h"
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/dnn_context.h"
#include "toolkit/engine/cuda/stream.h"
#include "toolkit/engine/thread_state.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

constexpr size_t kAlign = 256; // of what lies in the workspace

bool channels_last(Layout layout) {
  return layout == Layout::kNhwc || layout == Layout::kNdhwc;
}

// Spatial dimensions, input channels, output channels: cuDNN has no name for
// it, so such a filter goes through the workspace.
bool spatial_first(Layout layout) {
  return layout == Layout::kHwcn || layout == Layout::kDhwcn;
}

int32_t alignment(const void* address) {
  constexpr uintptr_t kMost = 16;
  const auto at = reinterpret_cast<uintptr_t>(address) | kMost;
  return int32_t{1} << __builtin_ctzll(at);
}

// Sizes by meaning, from dims in the order of the format's name.
ConvKey key_of(ConvPass pass, const ConvolutionArgs& args) {
  if ((args.spatial != 2 && args.spatial != 3) ||
      args.in.rank != args.spatial + 2)
    throw Error(
        musaErrorNotSupported,
        "Convolution: there are two or three spatial dimensions");
  ConvKey key{};
  key.pass = pass;
  key.dtype = static_cast<int32_t>(args.in.dtype);
  key.tf32 = args.tf32 && args.in.dtype == Dtype::kFloat ? 1 : 0;
  key.spatial = args.spatial;
  key.groups = args.groups;
  const bool last = channels_last(args.in.layout);
  const bool moved = spatial_first(args.filter.layout);
  const int channel = last ? args.spatial + 1 : 1;
  key.images_last = last ? 1 : 0;
  // A filter that is moved anyway gets the images' order.
  key.filter_last =
      channels_last(args.filter.layout) || (moved && last) ? 1 : 0;
  key.align_in = alignment(args.in.address);
  key.align_filter =
      moved ? alignment(nullptr) : alignment(args.filter.address);
  key.align_out = alignment(args.out.address);
  key.n = args.in.dims[0];
  key.ic = args.in.dims[channel];
  key.oc = args.out.dims[channel];
  const int image_first = last ? 1 : 2;
  const int filter_first = moved ? 0 : (key.filter_last != 0 ? 1 : 2);
  for (int i = 0; i < args.spatial; ++i) {
    key.in[i] = args.in.dims[image_first + i];
    key.out[i] = args.out.dims[image_first + i];
    key.kernel[i] = args.filter.dims[filter_first + i];
    key.pad[i] = args.pad[i];
    key.stride[i] = args.stride[i];
    key.dilation[i] = args.dilation[i];
  }
  return key;
}

ConvPass pass_of(Family family) {
  return family == Family::kConvolution            ? ConvPass::kForward
      : family == Family::kConvolutionBackwardData ? ConvPass::kBackwardData
                                                   : ConvPass::kBackwardFilter;
}

// Null where cuDNN has no deterministic engine: the direct way is algorithm 0
// then.
ConvPlan* plan_for(DnnContext& context, const ConvKey& key, int algorithm) {
  const int number = std::max(algorithm, 0);
  ConvPlan* plan = context.convolution(key).plan(number);
  if (plan == nullptr && number > 0)
    throw Error(
        musaErrorNotSupported,
        "Convolution: cuDNN has no further algorithm for these operands");
  return plan;
}

size_t moved_filter_bytes(const ConvolutionArgs& args) {
  if (!spatial_first(args.filter.layout))
    return 0;
  const auto bytes =
      static_cast<size_t>(args.filter.numel * element_bytes(args.filter.dtype));
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// The filter's elements in one order of dims, output channels first: where
// the caller has them, and dense at the front of the workspace.
struct MovedFilter {
  MovedFilter(const ConvKey& key, const ConvolutionArgs& args)
      : outside(args.filter), inside(args.filter) {
    const int spatial = key.spatial;
    const int rank = spatial + 2;
    const int64_t inputs = key.ic / key.groups;
    const int first = key.filter_last != 0 ? 1 : 2;
    const int input = key.filter_last != 0 ? rank - 1 : 1;
    dims[0] = key.oc;
    strides[0] = 1;
    dims[input] = inputs;
    strides[input] = key.oc;
    int64_t step = key.oc * inputs;
    for (int i = spatial - 1; i >= 0; --i) {
      dims[first + i] = key.kernel[i];
      strides[first + i] = step;
      step *= key.kernel[i];
    }
    step = 1;
    for (int i = rank - 1; i >= 0; --i) {
      dense[i] = step;
      step *= dims[i];
    }
    outside.dims = inside.dims = dims;
    outside.strides = strides;
    outside.dense = false;
    inside.strides = dense;
    inside.address = args.workspace.address;
  }
  MovedFilter(const MovedFilter&) = delete;
  MovedFilter& operator=(const MovedFilter&) = delete;

  int64_t dims[kMaxSpatial + 2];
  int64_t strides[kMaxSpatial + 2];
  int64_t dense[kMaxSpatial + 2];
  View outside;
  View inside;
};

void run(
    engine::Stream& stream,
    const ConvKey& key,
    const ConvolutionArgs& args,
    void* filter,
    size_t workspace_offset) {
  const cudaStream_t to = native(stream);
  DnnContext& context = dnn_context(stream.device());
  const ConvPointers pointers = {args.in.address, filter, args.out.address};
  ConvPlan* plan = plan_for(context, key, args.algorithm);
  if (plan == nullptr)
    return convolve_directly(stream, key, pointers);
  if (args.workspace.bytes < workspace_offset + plan->workspace_bytes)
    throw Error(
        musaErrorInvalidValue,
        "Convolution: the workspace is smaller than what was asked for");
  char* workspace = plan->workspace_bytes == 0
      ? nullptr
      : static_cast<char*>(args.workspace.address) + workspace_offset;
  run_plan(context.on(to), *plan, pointers, workspace);
}

void run_pass(
    Dnn& dnn,
    engine::Stream& stream,
    ConvPass pass,
    const ConvolutionArgs& args) {
  const ConvKey key = key_of(pass, args);
  if (!spatial_first(args.filter.layout))
    return run(stream, key, args, args.filter.address, 0);
  const size_t bytes = moved_filter_bytes(args);
  if (args.workspace.bytes < bytes)
    throw Error(
        musaErrorInvalidValue,
        "Convolution: the workspace is smaller than what was asked for");
  const MovedFilter filter(key, args);
  if (pass != ConvPass::kBackwardFilter)
    dnn.copy(stream, filter.inside, filter.outside);
  run(stream, key, args, filter.inside.address, bytes);
  if (pass == ConvPass::kBackwardFilter)
    dnn.copy(stream, filter.outside, filter.inside);
}

ConvFinish finish_of(const ConvolutionArgs& args) {
  const bool last = channels_last(args.out.layout);
  ConvFinish f{};
  f.dtype = args.out.dtype;
  f.activation = args.activation;
  f.numel = args.out.numel;
  f.channels = args.out.dims[last ? args.out.rank - 1 : 1];
  f.plane = 1;
  for (int i = 2; i < args.out.rank && !last; ++i)
    f.plane *= args.out.dims[i];
  f.bias = args.bias.present() ? args.bias.address : nullptr;
  f.add = args.add.present() ? args.add.address : nullptr;
  f.out = args.out.address;
  f.coef = args.coef[0];
  return f;
}

} // namespace

size_t CudaDnn::convolution_workspace_bytes(
    Family family,
    const ConvolutionArgs& args) {
  // The caller's stream is one of the thread's device.
  DnnContext& context = dnn_context(t_state.device);
  const ConvKey key = key_of(pass_of(family), args);
  const ConvPlan* plan = plan_for(context, key, args.algorithm);
  return moved_filter_bytes(args) +
      (plan != nullptr ? plan->workspace_bytes : 0);
}

int CudaDnn::recommended_convolution(
    Family family,
    const ConvolutionArgs& args) {
  const ConvKey key = key_of(pass_of(family), args);
  return dnn_context(t_state.device).convolution(key).recommended();
}

void CudaDnn::convolution(Stream& stream, const ConvolutionArgs& args) {
  run_pass(*this, stream, ConvPass::kForward, args);
  const ConvFinish finish = finish_of(args);
  if (!finish.nothing())
    finish_convolution(stream, finish);
}

void CudaDnn::convolution_backward_data(
    Stream& stream,
    const ConvolutionArgs& args) {
  run_pass(*this, stream, ConvPass::kBackwardData, args);
}

void CudaDnn::convolution_backward_filter(
    Stream& stream,
    const ConvolutionArgs& args) {
  run_pass(*this, stream, ConvPass::kBackwardFilter, args);
}

} // namespace musa_standin::engine::cuda
