// SPDX-License-Identifier: Apache-2.0
// Convolution on the CPU engine: from a call's operands to a task.
#include "toolkit/engine/cpu/conv_job.h"

#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/stream.h"

#include "toolkit/engine/error.h"

namespace musa_standin::engine::cpu {
namespace {

bool channels_last(Layout layout) {
  return layout == Layout::kNhwc || layout == Layout::kNdhwc;
}

FilterOrder filter_order(Layout layout) {
  if (layout == Layout::kHwcn || layout == Layout::kDhwcn)
    return FilterOrder::kSpatialFirst;
  return channels_last(layout) ? FilterOrder::kChannelsLast
                               : FilterOrder::kChannelsFirst;
}

// Sizes by meaning, from dims in the order of the format's name.
ConvShape make_shape(ConvPass pass, const ConvolutionArgs& args) {
  if ((args.spatial != 2 && args.spatial != 3) ||
      args.in.rank != args.spatial + 2)
    throw Error(
        musaErrorNotSupported,
        "convolution has two or three spatial dimensions");
  ConvShape s{};
  s.pass = pass;
  s.groups = args.groups;
  s.spatial = args.spatial;
  const bool last = channels_last(args.in.layout);
  s.images = last ? ImageOrder::kChannelsLast : ImageOrder::kChannelsFirst;
  s.filter = filter_order(args.filter.layout);
  s.n = args.in.dims[0];
  s.ic = args.in.dims[last ? args.in.rank - 1 : 1];
  s.oc = args.out.dims[last ? args.in.rank - 1 : 1];
  s.in_channels = s.ic;
  s.out_channels = s.oc;
  const int image_first = last ? 1 : 2;
  const int filter_first = s.filter == FilterOrder::kChannelsFirst ? 2
      : s.filter == FilterOrder::kChannelsLast                     ? 1
                                                                   : 0;
  for (int i = 0; i < kMaxSpatial; ++i) {
    const int from = i - (kMaxSpatial - args.spatial);
    const bool there = from >= 0;
    s.in[i] = there ? args.in.dims[image_first + from] : 1;
    s.out[i] = there ? args.out.dims[image_first + from] : 1;
    s.kernel[i] = there ? args.filter.dims[filter_first + from] : 1;
    s.pad[i] = there ? args.pad[from] : 0;
    s.stride[i] = there ? args.stride[from] : 1;
    s.dilation[i] = there ? args.dilation[from] : 1;
  }
  return s;
}

ConvPass pass_of(Family family) {
  return family == Family::kConvolution            ? ConvPass::kForward
      : family == Family::kConvolutionBackwardData ? ConvPass::kBackwardData
                                                   : ConvPass::kBackwardFilter;
}

void submit_pass(
    engine::Stream& stream,
    const char* name,
    ConvPass pass,
    const ConvolutionArgs& args) {
  ConvJob job{};
  job.shape = make_shape(pass, args);
  job.dtype = args.in.dtype;
  job.tf32 = args.tf32 && job.dtype == Dtype::kFloat;
  if (pass == ConvPass::kForward)
    job.finish = make_finish(args, job.shape);
  job.in = static_cast<char*>(args.in.address);
  job.filter = static_cast<char*>(args.filter.address);
  job.out = static_cast<char*>(args.out.address);
  job.workspace = static_cast<char*>(args.workspace.address);
  job.kernels = &MUSA_ISA_PICK(kGemmKernels);
  submit(stream, name, [job] { run_convolution(job); });
}

} // namespace

size_t CpuDnn::convolution_workspace_bytes(
    Family family,
    const ConvolutionArgs& args) {
  const Dtype dtype = args.in.dtype;
  return conv_workspace_bytes(
      make_shape(pass_of(family), args),
      dtype,
      args.tf32 && dtype == Dtype::kFloat);
}

void CpuDnn::convolution(Stream& stream, const ConvolutionArgs& args) {
  submit_pass(stream, "Convolution", ConvPass::kForward, args);
}

void CpuDnn::convolution_backward_data(
    Stream& stream,
    const ConvolutionArgs& args) {
  submit_pass(stream, "ConvolutionBackwardData", ConvPass::kBackwardData, args);
}

void CpuDnn::convolution_backward_filter(
    Stream& stream,
    const ConvolutionArgs& args) {
  submit_pass(
      stream,
      "ConvolutionBackwardFilter",
      ConvPass::kBackwardFilter,
      args);
}

} // namespace musa_standin::engine::cpu
