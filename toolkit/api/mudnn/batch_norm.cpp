// SPDX-License-Identifier: Apache-2.0
// muDNN's BatchNorm.
#include "toolkit/api/mudnn/checks.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::View;

constexpr const char* kName = "BatchNorm";

// Extent of the statistics.
int64_t channels(const View& in, bool per_activation) {
  if (per_activation)
    return in.numel / in.dims[0];
  const bool last =
      in.layout == engine::Layout::kNhwc || in.layout == engine::Layout::kNdhwc;
  return in.rank == 1 ? 1 : in.dims[last ? in.rank - 1 : 1];
}

Status check_images(std::initializer_list<api::Operand> images) {
  const Status status = api::check_dense(kName, images);
  if (status != Status::SUCCESS)
    return status;
  const View& first = *images.begin()->view;
  for (const api::Operand& image : images) {
    const View& v = *image.view;
    if (!engine::is_floating(v.dtype) || v.dtype != first.dtype)
      return api::refuse_type(kName, image.name, v.dtype);
    if (!api::same_dims(v, first) || v.layout != first.layout)
      return api::refuse_sizes(kName, image.name);
  }
  if (first.numel == 0)
    return api::refuse(
        Status::INVALID_PARAMETER,
        "BatchNorm: the image has no elements");
  return Status::SUCCESS;
}

// Statistics, scale and shift share one type and count the channels.
Status check_statistics(
    const View& in,
    bool per_activation,
    std::initializer_list<api::Operand> operands) {
  const Status status = api::check_optional(kName, operands);
  if (status != Status::SUCCESS)
    return status;
  const int64_t extent = channels(in, per_activation);
  for (const api::Operand& o : operands) {
    if (o.view->rank == 0)
      continue;
    if (o.view->dtype != api::statistics_type(in.dtype))
      return api::refuse_type(kName, o.name, o.view->dtype);
    if (o.view->numel != extent)
      return api::refuse_sizes(kName, o.name);
  }
  return Status::SUCCESS;
}

Status check_present(std::initializer_list<api::Operand> operands) {
  for (const api::Operand& o : operands) {
    if (!o.view->present())
      return api::refuse(
          Status::INVALID_PARAMETER,
          "BatchNorm: %s is missing",
          o.name);
  }
  return Status::SUCCESS;
}

} // namespace

Status BatchNorm::RunPure(
    Handle& handle,
    Tensor& out,
    const Tensor& in,
    Tensor& mean,
    Tensor& var,
    const Tensor& gamma,
    const Tensor& beta) {
  return api::run(kName, handle, [&](engine::Stream& stream) {
    engine::BatchNormArgs args;
    args.per_activation = mode_ == Mode::PER_ACTIVATION;
    args.epsilon = epsilon_;
    args.out = Access::view(out);
    args.in = Access::view(in);
    args.running_mean = Access::view(mean);
    args.running_var = Access::view(var);
    args.gamma = Access::view(gamma);
    args.beta = Access::view(beta);
    Status status = check_images({{"in", &args.in}, {"out", &args.out}});
    if (status == Status::SUCCESS)
      status = check_statistics(
          args.in,
          args.per_activation,
          {{"mean", &args.running_mean},
           {"var", &args.running_var},
           {"gamma", &args.gamma},
           {"beta", &args.beta}});
    if (status == Status::SUCCESS)
      status = check_present(
          {{"mean", &args.running_mean}, {"var", &args.running_var}});
    if (status == Status::SUCCESS)
      engine::dnn().batch_norm_inference(stream, args);
    return status;
  });
}

// Batch statistics, whatever SetTraining says: inference is RunPure.
// NOLINTNEXTLINE(readability-function-size): the vendor's parameters
Status BatchNorm::RunComposite(
    Handle& handle,
    Tensor& out,
    const Tensor& in,
    Tensor& running_mean,
    Tensor& running_var,
    Tensor& save_mean,
    Tensor& save_invstd,
    const Tensor& gamma,
    const Tensor& beta,
    double momentum,
    const MemoryMaintainer& maintainer) {
  return api::run(kName, handle, [&](engine::Stream& stream) {
    engine::BatchNormArgs args;
    args.per_activation = mode_ == Mode::PER_ACTIVATION;
    args.epsilon = epsilon_;
    args.momentum = momentum;
    args.out = Access::view(out);
    args.in = Access::view(in);
    args.running_mean = Access::view(running_mean);
    args.running_var = Access::view(running_var);
    args.save_mean = Access::view(save_mean);
    args.save_invstd = Access::view(save_invstd);
    args.gamma = Access::view(gamma);
    args.beta = Access::view(beta);
    Status status = check_images({{"in", &args.in}, {"out", &args.out}});
    if (status == Status::SUCCESS)
      status = check_statistics(
          args.in,
          args.per_activation,
          {{"running_mean", &args.running_mean},
           {"running_var", &args.running_var},
           {"save_mean", &args.save_mean},
           {"save_invstd", &args.save_invstd},
           {"gamma", &args.gamma},
           {"beta", &args.beta}});
    if (status != Status::SUCCESS)
      return status;
    const api::OptionalWorkspace workspace(
        stream,
        engine::dnn().workspace_bytes(engine::Family::kBatchNorm, args.in),
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "BatchNorm: no workspace");
    args.workspace = workspace.get();
    engine::dnn().batch_norm_training(stream, args);
    return Status::SUCCESS;
  });
}

// NOLINTNEXTLINE(readability-function-size): the vendor's parameters
Status BatchNorm::RunBwd(
    Handle& handle,
    Tensor& grad_in,
    Tensor& grad_mean,
    Tensor& grad_var,
    Tensor& grad_gamma,
    Tensor& grad_beta,
    const Tensor& in,
    const Tensor& grad_out,
    const Tensor& mean,
    const Tensor& invstd,
    const Tensor& gamma,
    const MemoryMaintainer& maintainer) {
  return api::run("BatchNormBackward", handle, [&](engine::Stream& stream) {
    engine::BatchNormBackwardArgs args;
    args.per_activation = mode_ == Mode::PER_ACTIVATION;
    args.epsilon = epsilon_;
    args.grad_in = Access::view(grad_in);
    args.grad_mean = Access::view(grad_mean);
    args.grad_var = Access::view(grad_var);
    args.grad_gamma = Access::view(grad_gamma);
    args.grad_beta = Access::view(grad_beta);
    args.in = Access::view(in);
    args.grad_out = Access::view(grad_out);
    args.mean = Access::view(mean);
    args.invstd = Access::view(invstd);
    args.gamma = Access::view(gamma);
    const bool wanted = args.grad_in.rank != 0;
    const View& image = wanted ? args.grad_in : args.in;
    Status status = check_images(
        {{"in", &args.in}, {"grad_out", &args.grad_out}, {"grad_in", &image}});
    if (status == Status::SUCCESS)
      status = check_statistics(
          args.in,
          args.per_activation,
          {{"grad_mean", &args.grad_mean},
           {"grad_var", &args.grad_var},
           {"grad_gamma", &args.grad_gamma},
           {"grad_beta", &args.grad_beta},
           {"mean", &args.mean},
           {"invstd", &args.invstd},
           {"gamma", &args.gamma}});
    if (status == Status::SUCCESS)
      status = check_present({{"mean", &args.mean}, {"invstd", &args.invstd}});
    if (status != Status::SUCCESS)
      return status;
    const api::OptionalWorkspace workspace(
        stream,
        engine::dnn().workspace_bytes(
            engine::Family::kBatchNormBackward,
            args.in),
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "BatchNorm: no workspace");
    args.workspace = workspace.get();
    engine::dnn().batch_norm_backward(stream, args);
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
