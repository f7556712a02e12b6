// SPDX-License-Identifier: Apache-2.0
// muDNN's LayerNorm.
#include "toolkit/api/mudnn/checks.h"

#include <algorithm>

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::View;

constexpr const char* kName = "LayerNorm";

// Number of trailing axes that are normalised, or 0 if the axes are not those.
int trailing_axes(const View& in, int count, const int* axes) {
  if (count < 1 || count > in.rank || in.rank > engine::kMaxRank)
    return 0;
  uint32_t seen = 0;
  for (int i = 0; i < count; ++i) {
    const int axis = api::normal_axis(axes[i], in.rank);
    if (axis < 0 || axis < in.rank - count)
      return 0;
    seen |= 1U << static_cast<uint32_t>(axis);
  }
  uint32_t wanted = 0;
  for (int axis = in.rank - count; axis < in.rank; ++axis)
    wanted |= 1U << static_cast<uint32_t>(axis);
  return seen == wanted ? count : 0;
}

struct Extents {
  int64_t rows = 1;
  int64_t columns = 1;
};

Extents extents(const View& in, int trailing) {
  Extents e;
  for (int i = 0; i < in.rank; ++i)
    (i < in.rank - trailing ? e.rows : e.columns) *= in.dims[i];
  return e;
}

// Scale, shift and their gradients: of the elements' type or the statistics'.
Status check_affine(
    const View& in,
    int64_t columns,
    std::initializer_list<api::Operand> operands) {
  const Status status = api::check_optional(kName, operands);
  if (status != Status::SUCCESS)
    return status;
  const View* first = nullptr;
  for (const api::Operand& o : operands) {
    const View& v = *o.view;
    if (v.rank == 0)
      continue;
    first = first != nullptr ? first : &v;
    if (v.dtype != first->dtype ||
        (v.dtype != in.dtype && v.dtype != api::statistics_type(in.dtype)))
      return api::refuse_type(kName, o.name, v.dtype);
    if (v.numel != columns)
      return api::refuse_sizes(kName, o.name);
  }
  return Status::SUCCESS;
}

Status check_statistics(
    const View& in,
    int64_t rows,
    std::initializer_list<api::Operand> operands) {
  const Status status = api::check_optional(kName, operands);
  if (status != Status::SUCCESS)
    return status;
  for (const api::Operand& o : operands) {
    if (o.view->rank == 0)
      continue;
    if (o.view->dtype != api::statistics_type(in.dtype))
      return api::refuse_type(kName, o.name, o.view->dtype);
    if (o.view->numel != rows)
      return api::refuse_sizes(kName, o.name);
  }
  return Status::SUCCESS;
}

Status check_rows(
    const View& in,
    int trailing,
    std::initializer_list<api::Operand> same) {
  const Status status = api::check_dense(kName, same);
  if (status != Status::SUCCESS)
    return status;
  if (!engine::is_floating(in.dtype))
    return api::refuse_type(kName, "in", in.dtype);
  for (const api::Operand& o : same) {
    if (o.view->dtype != in.dtype)
      return api::refuse_type(kName, o.name, o.view->dtype);
    if (!api::same_dims(*o.view, in))
      return api::refuse_sizes(kName, o.name);
  }
  if (trailing == 0)
    return api::refuse(
        Status::INVALID_PARAMETER,
        "LayerNorm: the axes are not the trailing ones");
  if (in.numel == 0)
    return api::refuse(
        Status::INVALID_PARAMETER,
        "LayerNorm: in has no elements");
  return Status::SUCCESS;
}

} // namespace

Status LayerNorm::SetAxis(int n, const int* axes) {
  if (n < 1 || n > static_cast<int>(sizeof axes_ / sizeof *axes_))
    return api::refuse(Status::INVALID_PARAMETER, "LayerNorm: %d axes", n);
  count_ = n;
  std::copy_n(axes, n, axes_);
  return Status::SUCCESS;
}

Status LayerNorm::Run(
    Handle& handle,
    Tensor& out,
    Tensor& mean,
    Tensor& rstd,
    const Tensor& in,
    const Tensor& gamma,
    const Tensor& beta,
    const MemoryMaintainer& /*maintainer*/) {
  return api::run(kName, handle, [&](engine::Stream& stream) {
    engine::LayerNormArgs args;
    args.epsilon = epsilon_;
    args.out = Access::view(out);
    args.mean = Access::view(mean);
    args.rstd = Access::view(rstd);
    args.in = Access::view(in);
    args.gamma = Access::view(gamma);
    args.beta = Access::view(beta);
    const int trailing = trailing_axes(args.in, count_, axes_);
    Status status =
        check_rows(args.in, trailing, {{"in", &args.in}, {"out", &args.out}});
    if (status != Status::SUCCESS)
      return status;
    // One of the two alone is not supported (quirk 68).
    if (args.gamma.present() != args.beta.present())
      return api::refuse(
          Status::NOT_SUPPORTED,
          "LayerNorm: gamma and beta are given together or not at all");
    const Extents e = extents(args.in, trailing);
    args.rows = e.rows;
    args.columns = e.columns;
    status = check_affine(
        args.in,
        e.columns,
        {{"gamma", &args.gamma}, {"beta", &args.beta}});
    if (status == Status::SUCCESS)
      status = check_statistics(
          args.in,
          e.rows,
          {{"mean", &args.mean}, {"rstd", &args.rstd}});
    if (status == Status::SUCCESS)
      engine::dnn().layer_norm(stream, args);
    return status;
  });
}

// NOLINTNEXTLINE(readability-function-size): the vendor's parameters
Status LayerNorm::RunBwd(
    Handle& handle,
    Tensor& grad_in,
    Tensor& grad_gamma,
    Tensor& grad_beta,
    const Tensor& grad_out,
    const Tensor& in,
    const Tensor& mean,
    const Tensor& rstd,
    const Tensor& gamma,
    const MemoryMaintainer& maintainer) {
  return api::run("LayerNormBackward", handle, [&](engine::Stream& stream) {
    engine::LayerNormBackwardArgs args;
    args.grad_in = Access::view(grad_in);
    args.grad_gamma = Access::view(grad_gamma);
    args.grad_beta = Access::view(grad_beta);
    args.grad_out = Access::view(grad_out);
    args.in = Access::view(in);
    args.mean = Access::view(mean);
    args.rstd = Access::view(rstd);
    args.gamma = Access::view(gamma);
    const int trailing = trailing_axes(args.in, count_, axes_);
    Status status = check_rows(
        args.in,
        trailing,
        {{"in", &args.in}, {"grad_out", &args.grad_out}});
    // A gradient that is not wanted is a tensor with a type alone.
    if (status == Status::SUCCESS && args.grad_in.rank != 0)
      status = check_rows(args.in, trailing, {{"grad_in", &args.grad_in}});
    if (status != Status::SUCCESS)
      return status;
    const Extents e = extents(args.in, trailing);
    args.rows = e.rows;
    args.columns = e.columns;
    status = check_affine(
        args.in,
        e.columns,
        {{"gamma", &args.gamma},
         {"grad_gamma", &args.grad_gamma},
         {"grad_beta", &args.grad_beta}});
    if (status == Status::SUCCESS)
      status = check_statistics(
          args.in,
          e.rows,
          {{"mean", &args.mean}, {"rstd", &args.rstd}});
    if (status != Status::SUCCESS)
      return status;
    if (!args.mean.present() || !args.rstd.present())
      return api::refuse(
          Status::INVALID_PARAMETER,
          "LayerNorm: the statistics are missing");
    const api::OptionalWorkspace workspace(
        stream,
        engine::dnn().workspace_bytes(
            engine::Family::kLayerNormBackward,
            args.in),
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "LayerNorm: no workspace");
    args.workspace = workspace.get();
    engine::dnn().layer_norm_backward(stream, args);
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
