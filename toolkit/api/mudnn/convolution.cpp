// SPDX-License-Identifier: Apache-2.0
// muDNN's Convolution.
#include "toolkit/api/mudnn/checks.h"

#include <algorithm>

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::ConvolutionArgs;
using engine::Dtype;
using engine::Family;
using engine::Layout;
using engine::View;

constexpr const char* kName = "Convolution";

// Where an operand's dims are, in the order of its format's name.
struct Axes {
  int batch; // of a filter: output channels
  int channel;
  int first; // spatial
};

// False for a format that a rank of spatial dimensions does not have.
bool axes_of(Layout layout, int spatial, Axes& axes) {
  const int last = spatial + 1;
  const bool flat = spatial == 2;
  if (layout == (flat ? Layout::kNchw : Layout::kNcdhw))
    axes = {0, 1, 2};
  else if (layout == (flat ? Layout::kNhwc : Layout::kNdhwc))
    axes = {0, last, 1};
  else if (layout == (flat ? Layout::kHwcn : Layout::kDhwcn))
    axes = {last, last - 1, 0};
  else
    return false;
  return true;
}

const char* format_name(Layout layout) {
  static constexpr const char* kNames[] = {
      "UNKNOWN",
      "NCW",
      "NWC",
      "NCHW",
      "NHWC",
      "HWCN",
      "NCDHW",
      "NDHWC",
      "DHWCN",
  };
  const auto at = static_cast<size_t>(layout);
  return at < sizeof kNames / sizeof *kNames ? kNames[at] : "UNKNOWN";
}

// Types, layouts and ranks, with the vendor's sentences.
Status check_operands(const ConvolutionArgs& args) {
  const api::Operand operands[] = {
      {"in", &args.in},
      {"filter", &args.filter},
      {"out", &args.out}};
  for (const api::Operand& o : operands) {
    const View& v = *o.view;
    const Status status = api::check_dense(kName, {o});
    if (status != Status::SUCCESS)
      return status;
    if (v.dtype > Dtype::kBfloat16 || v.dtype != args.in.dtype)
      return api::refuse(
          Status::NOT_SUPPORTED,
          "Invalid Convolution data type %s",
          api::type_name(v.dtype));
    if (v.rank == 5 && (v.layout == Layout::kNchw || v.layout == Layout::kNhwc))
      return api::refuse(
          Status::NOT_SUPPORTED,
          "Unexpected tensor format %s",
          format_name(v.layout));
    if (v.numel == 0)
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Convolution: %s has no elements",
          o.name);
  }
  Axes axes{};
  const int rank = args.spatial + 2;
  const bool known = (args.spatial == 2 || args.spatial == 3) &&
      args.in.rank == rank && args.filter.rank == rank &&
      args.out.rank == rank && args.in.layout == args.out.layout &&
      args.in.layout != Layout::kHwcn && args.in.layout != Layout::kDhwcn &&
      axes_of(args.in.layout, args.spatial, axes) &&
      axes_of(args.filter.layout, args.spatial, axes);
  return known
      ? Status::SUCCESS
      : api::refuse(Status::NOT_SUPPORTED, "Unsupported Convolution config");
}

bool sizes_fit(const ConvolutionArgs& args) {
  Axes image{};
  Axes filter{};
  if (!axes_of(args.in.layout, args.spatial, image) ||
      !axes_of(args.filter.layout, args.spatial, filter))
    return false;
  const int64_t groups = args.groups;
  const int64_t channels = args.in.dims[image.channel];
  const int64_t results = args.out.dims[image.channel];
  if (groups < 1 || channels % groups != 0 || results % groups != 0 ||
      args.filter.dims[filter.channel] != channels / groups ||
      args.filter.dims[filter.batch] != results ||
      args.in.dims[0] != args.out.dims[0])
    return false;
  for (int i = 0; i < args.spatial; ++i) {
    const int64_t kernel = args.filter.dims[filter.first + i];
    if (args.stride[i] < 1 || args.dilation[i] < 1 || args.pad[i] < 0)
      return false;
    const int64_t reach = (kernel - 1) * args.dilation[i] + 1;
    const int64_t room =
        args.in.dims[image.first + i] + 2 * int64_t{args.pad[i]} - reach;
    if (room < 0 || args.out.dims[image.first + i] != room / args.stride[i] + 1)
      return false;
  }
  return true;
}

Status check(const ConvolutionArgs& args) {
  const Status status = check_operands(args);
  if (status != Status::SUCCESS)
    return status;
  return sizes_fit(args) ? Status::SUCCESS
                         : api::refuse_sizes(kName, "the operands");
}

// A vector of the channels always serves; the vendor's library takes the form
// {1, C, 1, 1} too, but not for images of height 1 or in groups (quirk 56).
Status check_bias(const ConvolutionArgs& args) {
  const View& bias = args.bias;
  if (bias.rank == 0)
    return Status::SUCCESS;
  const Status status = api::check_dense(kName, {{"bias", &bias}});
  if (status != Status::SUCCESS)
    return status;
  if (bias.dtype != args.in.dtype)
    return api::refuse_type(kName, "bias", bias.dtype);
  Axes axes{};
  axes_of(args.out.layout, args.spatial, axes);
  const int64_t channels = args.out.dims[axes.channel];
  const bool vector = bias.rank == 1 && bias.dims[0] == channels;
  const bool image = bias.rank == args.out.rank && bias.numel == channels &&
      bias.dims[axes.channel] == channels && args.groups == 1 &&
      args.in.dims[axes.first] != 1;
  return vector || image
      ? Status::SUCCESS
      : api::refuse(Status::INVALID_PARAMETER, "Bias shape doesn't match");
}

Status check_addend(const ConvolutionArgs& args) {
  if (args.add.rank == 0)
    return Status::SUCCESS;
  const Status status = api::check_dense(kName, {{"add", &args.add}});
  if (status != Status::SUCCESS)
    return status;
  if (args.add.dtype != args.out.dtype)
    return api::refuse_type(kName, "add", args.add.dtype);
  return api::same_dims(args.add, args.out) ? Status::SUCCESS
                                            : api::refuse_sizes(kName, "add");
}

// What the forward direction alone may be asked for.
Status check_forward(const ConvolutionArgs& args) {
  Status status = check(args);
  if (status == Status::SUCCESS)
    status = check_bias(args);
  if (status == Status::SUCCESS)
    status = check_addend(args);
  if (status != Status::SUCCESS)
    return status;
  const auto algorithm = static_cast<Convolution::Algorithm>(args.algorithm);
  if (args.groups > 1 && algorithm == Convolution::Algorithm::DIRECT)
    return api::refuse(
        Status::NOT_SUPPORTED,
        "Unsupported Convolution configs for algorithm DIRECT");
  return Status::SUCCESS;
}

// What tells the three directions apart: their operands are the same, with the
// gradients in the places of what they belong to.
struct Direction {
  const char* name;
  Family family;
  Status (*check)(const ConvolutionArgs& args);
  void (engine::Dnn::*run)(engine::Stream& stream, const ConvolutionArgs& args);
};
constexpr Direction kForward =
    {kName, Family::kConvolution, check_forward, &engine::Dnn::convolution};
constexpr Direction kBackwardData = {
    "ConvolutionBackwardData",
    Family::kConvolutionBackwardData,
    check,
    &engine::Dnn::convolution_backward_data};
constexpr Direction kBackwardFilter = {
    "ConvolutionBackwardFilter",
    Family::kConvolutionBackwardFilter,
    check,
    &engine::Dnn::convolution_backward_filter};

// IMPLICIT_GEMM is the engine's deterministic algorithm, and recommended where
// that is the fastest too. In groups DIRECT is, and refused by Run (quirk 55).
template <class Algorithm>
Status recommend(
    const Direction& direction,
    const Handle& handle,
    const ConvolutionArgs& args,
    Algorithm& algorithm) {
  return api::run(kName, handle, [&](engine::Stream& /*stream*/) {
    const Status status = check(args);
    if (status != Status::SUCCESS)
      return status;
    algorithm = args.groups > 1 && direction.family == Family::kConvolution
        ? Algorithm::DIRECT
        : static_cast<Algorithm>(
              engine::dnn().recommended_convolution(direction.family, args));
    return status;
  });
}

Status workspace_bytes(
    const Direction& direction,
    const Handle& handle,
    const ConvolutionArgs& args,
    size_t& bytes) {
  return api::run(kName, handle, [&](engine::Stream& /*stream*/) {
    const Status status = check(args);
    if (status == Status::SUCCESS)
      bytes = engine::dnn().convolution_workspace_bytes(direction.family, args);
    return status;
  });
}

Status run(
    const Direction& direction,
    const Handle& handle,
    ConvolutionArgs args,
    const MemoryMaintainer& maintainer) {
  return api::run(direction.name, handle, [&](engine::Stream& stream) {
    const Status status = direction.check(args);
    if (status != Status::SUCCESS)
      return status;
    const api::OptionalWorkspace workspace(
        stream,
        engine::dnn().convolution_workspace_bytes(direction.family, args),
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "Convolution: no workspace");
    args.workspace = workspace.get();
    (engine::dnn().*direction.run)(stream, args);
    return Status::SUCCESS;
  });
}

} // namespace

// One dimension is accepted here and refused by Run (quirk 51).
Status Convolution::SetNdInfo(
    int n,
    const int* pad,
    const int* stride,
    const int* dilation) {
  if (n < 1 || n > kMaxSpatial)
    return api::refuse(
        Status::INVALID_PARAMETER,
        "Convolution: %d spatial dimensions",
        n);
  spatial_ = n;
  std::copy_n(pad, n, pad_);
  std::copy_n(stride, n, stride_);
  std::copy_n(dilation, n, dilation_);
  return Status::SUCCESS;
}

Status Convolution::SetNdInfo(
    std::initializer_list<int> pad,
    std::initializer_list<int> stride,
    std::initializer_list<int> dilation) {
  if (pad.size() != stride.size() || pad.size() != dilation.size())
    return api::refuse(
        Status::INVALID_PARAMETER,
        "Convolution: lists of different lengths");
  return SetNdInfo(
      static_cast<int>(pad.size()),
      pad.begin(),
      stride.begin(),
      dilation.begin());
}

Status Convolution::GetRecommendForwardAlgorithm(
    Handle& handle,
    Algorithm& algorithm,
    const Tensor& out,
    const Tensor& in,
    const Tensor& filter) {
  return recommend(
      kForward,
      handle,
      Access::convolution(*this, handle, out, in, filter),
      algorithm);
}

Status Convolution::GetRecommendBackwardDataAlgorithm(
    Handle& handle,
    AlgorithmBwdData& algorithm,
    const Tensor& grad_in,
    const Tensor& grad_out,
    const Tensor& filter) {
  return recommend(
      kBackwardData,
      handle,
      Access::convolution(*this, handle, grad_out, grad_in, filter),
      algorithm);
}

Status Convolution::GetRecommendBackwardFilterAlgorithm(
    Handle& handle,
    AlgorithmBwdFilter& algorithm,
    const Tensor& grad_filter,
    const Tensor& in,
    const Tensor& grad_out) {
  return recommend(
      kBackwardFilter,
      handle,
      Access::convolution(*this, handle, grad_out, in, grad_filter),
      algorithm);
}

Status Convolution::GetForwardWorkspaceSize(
    Handle& handle,
    size_t& bytes,
    const Tensor& out,
    const Tensor& in,
    const Tensor& filter,
    const Algorithm& algorithm) {
  return workspace_bytes(
      kForward,
      handle,
      Access::convolution(*this, handle, out, in, filter, algorithm),
      bytes);
}

Status Convolution::GetBackwardDataWorkspaceSize(
    Handle& handle,
    size_t& bytes,
    const Tensor& grad_in,
    const Tensor& grad_out,
    const Tensor& filter,
    const AlgorithmBwdData& algorithm) {
  return workspace_bytes(
      kBackwardData,
      handle,
      Access::convolution(*this, handle, grad_out, grad_in, filter, algorithm),
      bytes);
}

Status Convolution::GetBackwardFilterWorkspaceSize(
    Handle& handle,
    size_t& bytes,
    const Tensor& grad_filter,
    const Tensor& in,
    const Tensor& grad_out,
    const AlgorithmBwdFilter& algorithm) {
  return workspace_bytes(
      kBackwardFilter,
      handle,
      Access::convolution(*this, handle, grad_out, in, grad_filter, algorithm),
      bytes);
}

Status Convolution::Run(
    Handle& handle,
    Tensor& out,
    const Tensor& in,
    const Tensor& filter,
    Algorithm algorithm,
    const MemoryMaintainer& maintainer) {
  return run(
      kForward,
      handle,
      Access::convolution(*this, handle, out, in, filter, algorithm),
      maintainer);
}

// NOLINTNEXTLINE(readability-function-size): the vendor's parameters
Status Convolution::RunFusion(
    Handle& handle,
    Tensor& out,
    const Tensor& in,
    const Tensor& filter,
    const Tensor& bias,
    const Tensor& add,
    const FusedActivationDesc& activation,
    Algorithm algorithm,
    const MemoryMaintainer& maintainer) {
  ConvolutionArgs args =
      Access::convolution(*this, handle, out, in, filter, algorithm);
  args.bias = Access::view(bias);
  args.add = Access::view(add);
  args.activation = static_cast<engine::Activation>(Access::mode(activation));
  std::copy_n(Access::coef(activation), 3, args.coef);
  return run(kForward, handle, args, maintainer);
}

Status Convolution::RunBwdData(
    Handle& handle,
    Tensor& grad_in,
    const Tensor& grad_out,
    const Tensor& filter,
    AlgorithmBwdData algorithm,
    const MemoryMaintainer& maintainer) {
  return run(
      kBackwardData,
      handle,
      Access::convolution(*this, handle, grad_out, grad_in, filter, algorithm),
      maintainer);
}

Status Convolution::RunBwdFilter(
    Handle& handle,
    Tensor& grad_filter,
    const Tensor& in,
    const Tensor& grad_out,
    AlgorithmBwdFilter algorithm,
    const MemoryMaintainer& maintainer) {
  return run(
      kBackwardFilter,
      handle,
      Access::convolution(*this, handle, grad_out, in, grad_filter, algorithm),
      maintainer);
}

} // namespace portable_1
} // namespace musa::dnn
