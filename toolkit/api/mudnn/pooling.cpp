// SPDX-License-Identifier: Apache-2.0
// muDNN's Pooling.
#include "toolkit/api/mudnn/checks.h"

#include <algorithm>

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::Dtype;
using engine::PoolingArgs;
using engine::View;

using Mode = Pooling::Mode;

bool is_maximum(Mode mode) {
  return mode == Mode::MAXPOOL || mode == Mode::ADAPTIVE_MAXPOOL;
}

bool has_window(Mode mode) {
  return mode == Mode::MAXPOOL || mode == Mode::AVGPOOL_COUNT_PAD ||
      mode == Mode::AVGPOOL_COUNT_WITHOUT_PAD;
}

// The windows are sane and their number does not leave the padded image.
bool windows_fit(const PoolingArgs& args, int first) {
  for (int i = 0; i < args.spatial; ++i) {
    const int64_t in = args.in.dims[first + i];
    const int64_t out = args.out.dims[first + i];
    if (args.kernel[i] < 1 || args.stride[i] < 1 || args.dilation[i] < 1 ||
        args.pad[i] < 0 || 2 * args.pad[i] > args.kernel[i])
      return false;
    // Each window starts inside the image or its left padding.
    if ((out - 1) * args.stride[i] >= in + args.pad[i])
      return false;
  }
  return true;
}

bool same_planes(const View& in, const View& out) {
  const int channel = in.layout == engine::Layout::kNhwc ? 3 : 1;
  return in.dims[0] == out.dims[0] && in.dims[channel] == out.dims[channel];
}

Status check_indices(const PoolingArgs& args) {
  const View& v = args.indices;
  if (v.rank == 0)
    return Status::SUCCESS;
  const Status status = api::check_dense("Pooling", {{"indices", &v}});
  if (status != Status::SUCCESS)
    return status;
  if (v.dtype != Dtype::kInt64)
    return api::refuse_type("Pooling", "indices", v.dtype);
  return api::same_dims(v, args.out) ? Status::SUCCESS
                                     : api::refuse_sizes("Pooling", "indices");
}

Status check(const PoolingArgs& args, Mode mode) {
  const Status status =
      api::check_dense("Pooling", {{"in", &args.in}, {"out", &args.out}});
  if (status != Status::SUCCESS)
    return status;
  if (!engine::is_floating(args.in.dtype) || args.out.dtype != args.in.dtype)
    return api::refuse_type("Pooling", "in", args.in.dtype);
  if (args.in.rank != 4 || args.out.rank != 4 ||
      args.in.layout != args.out.layout ||
      (args.in.layout != engine::Layout::kNchw &&
       args.in.layout != engine::Layout::kNhwc))
    return api::refuse(
        Status::NOT_SUPPORTED,
        "Pooling: images have rank 4 and the format NCHW or NHWC");
  if (args.in.numel == 0 || args.out.numel == 0)
    return api::refuse(
        Status::INVALID_PARAMETER,
        "Pooling: an image has no elements");
  if (!same_planes(args.in, args.out))
    return api::refuse_sizes("Pooling", "the images");
  const int first = args.in.layout == engine::Layout::kNhwc ? 1 : 2;
  if (has_window(mode) && (args.spatial != 2 || !windows_fit(args, first)))
    return api::refuse(
        Status::INVALID_PARAMETER,
        "Pooling: the windows do not fit");
  if (mode == Mode::GLOBAL_AVGPOOL &&
      (args.out.dims[first] != 1 || args.out.dims[first + 1] != 1))
    return api::refuse_sizes("Pooling", "out");
  return check_indices(args);
}

} // namespace

Status Pooling::SetNdInfo(
    int n,
    const int* kernel,
    const int* pad,
    const int* stride,
    const int* dilation) {
  if (n < 1 || n > kMaxSpatial)
    return api::refuse(
        Status::INVALID_PARAMETER,
        "Pooling: %d spatial dimensions",
        n);
  spatial_ = n;
  std::copy_n(kernel, n, kernel_);
  std::copy_n(pad, n, pad_);
  std::copy_n(stride, n, stride_);
  std::copy_n(dilation, n, dilation_);
  return Status::SUCCESS;
}

Status Pooling::SetNdInfo(
    std::initializer_list<int> kernel,
    std::initializer_list<int> pad,
    std::initializer_list<int> stride,
    std::initializer_list<int> dilation) {
  if (pad.size() != kernel.size() || stride.size() != kernel.size() ||
      dilation.size() != kernel.size())
    return api::refuse(
        Status::INVALID_PARAMETER,
        "Pooling: lists of different lengths");
  return SetNdInfo(
      static_cast<int>(kernel.size()),
      kernel.begin(),
      pad.begin(),
      stride.begin(),
      dilation.begin());
}

#define MUSA_POOLING_ARGS(in_tensor, out_tensor, index_tensor) \
  PoolingArgs args;                                            \
  args.mode = static_cast<engine::PoolingMode>(mode_);         \
  args.in = Access::view(in_tensor);                           \
  args.out = Access::view(out_tensor);                         \
  args.indices = Access::view(index_tensor);                   \
  args.spatial = spatial_;                                     \
  args.divisor = divisor_;                                     \
  std::copy_n(kernel_, kMaxSpatial, args.kernel);              \
  std::copy_n(pad_, kMaxSpatial, args.pad);                    \
  std::copy_n(stride_, kMaxSpatial, args.stride);              \
  std::copy_n(dilation_, kMaxSpatial, args.dilation)

Status
Pooling::Run(Handle& handle, Tensor& out, const Tensor& in, Tensor& indices) {
  return api::run("Pooling", handle, [&](engine::Stream& stream) {
    MUSA_POOLING_ARGS(in, out, indices);
    const Status status = check(args, mode_);
    if (status == Status::SUCCESS)
      engine::dnn().pooling(stream, args);
    return status;
  });
}

Status Pooling::RunBwd(
    Handle& handle,
    Tensor& grad_in,
    const Tensor& grad_out,
    const Tensor& indices) {
  return api::run("PoolingBackward", handle, [&](engine::Stream& stream) {
    MUSA_POOLING_ARGS(grad_in, grad_out, indices);
    // The vendor's library fails late where the indices lack (quirk 62).
    if (is_maximum(mode_) && !args.indices.present())
      return api::refuse(
          Status::INTERNAL_ERROR,
          "Pooling: RunBwd without indices");
    const Status status = check(args, mode_);
    if (status == Status::SUCCESS)
      engine::dnn().pooling_backward(stream, args);
    return status;
  });
}

} // namespace portable_1
} // namespace musa::dnn
