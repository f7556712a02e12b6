// SPDX-License-Identifier: Apache-2.0
// muDNN's NLLLoss.
#include "toolkit/api/mudnn/checks.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::Dtype;
using engine::NllLossArgs;
using engine::View;

// scores: [classes], [samples, classes] or [samples, classes, …]; a target of
// each sample and trailing position.
bool target_fits(const View& target, const View& scores) {
  if (scores.rank == 1)
    return target.numel == 1;
  if (target.rank != scores.rank - 1 || target.dims[0] != scores.dims[0])
    return false;
  for (int i = 1; i < target.rank; ++i) {
    if (target.dims[i] != scores.dims[i + 1])
      return false;
  }
  return true;
}

// loss: a number, or with NONE one for each target.
Status check(const NllLossArgs& args, const View& scores, const View& loss) {
  Status status = api::check_dense(
      "NLLLoss",
      {{"the scores", &scores}, {"the loss", &loss}, {"target", &args.target}});
  if (status == Status::SUCCESS)
    status = api::check_optional(
        "NLLLoss",
        {{"weight", &args.weight}, {"total_weight", &args.total_weight}});
  if (status != Status::SUCCESS)
    return status;
  for (const View* v : {&scores, &loss, &args.weight, &args.total_weight}) {
    if (v->rank != 0 && v->dtype != Dtype::kFloat)
      return api::refuse_type("NLLLoss", "an operand", v->dtype);
  }
  if (args.target.dtype != Dtype::kInt64)
    return api::refuse_type("NLLLoss", "target", args.target.dtype);
  if (!target_fits(args.target, scores))
    return api::refuse_sizes("NLLLoss", "target");
  const int64_t classes = scores.dims[scores.rank == 1 ? 0 : 1];
  if (args.weight.rank != 0 && args.weight.numel != classes)
    return api::refuse_sizes("NLLLoss", "weight");
  const bool each = args.reduction == engine::LossReduction::kNone;
  if (loss.numel != (each ? args.target.numel : 1))
    return api::refuse_sizes("NLLLoss", "the loss");
  return Status::SUCCESS;
}

} // namespace

Status NLLLoss::Run(
    Handle& handle,
    Tensor& out,
    Tensor& total_weight,
    const Tensor& in,
    const Tensor& target,
    const Tensor& weight,
    const MemoryMaintainer& maintainer) {
  return api::run("NLLLoss", handle, [&](engine::Stream& stream) {
    NllLossArgs args;
    args.reduction = static_cast<engine::LossReduction>(mode_);
    args.ignore_index = ignore_index_;
    args.out = Access::view(out);
    args.in = Access::view(in);
    args.total_weight = Access::view(total_weight);
    args.target = Access::view(target);
    args.weight = Access::view(weight);
    const Status status = check(args, args.in, args.out);
    if (status != Status::SUCCESS)
      return status;
    const api::OptionalWorkspace workspace(
        stream,
        engine::dnn().workspace_bytes(engine::Family::kNllLoss, args.target),
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "NLLLoss: no workspace");
    args.workspace = workspace.get();
    engine::dnn().nll_loss(stream, args);
    return Status::SUCCESS;
  });
}

Status NLLLoss::RunBwd(
    Handle& handle,
    Tensor& grad_in,
    const Tensor& grad_out,
    const Tensor& target,
    const Tensor& weight,
    const Tensor& total_weight,
    const MemoryMaintainer& /*maintainer*/) {
  return api::run("NLLLossBackward", handle, [&](engine::Stream& stream) {
    NllLossArgs args;
    args.reduction = static_cast<engine::LossReduction>(mode_);
    args.ignore_index = ignore_index_;
    args.out = Access::view(grad_in);
    args.in = Access::view(grad_out);
    args.total_weight = Access::view(total_weight);
    args.target = Access::view(target);
    args.weight = Access::view(weight);
    const Status status = check(args, args.out, args.in);
    if (status != Status::SUCCESS)
      return status;
    if (mode_ == Mode::MEAN && !args.total_weight.present())
      return api::refuse(
          Status::INVALID_PARAMETER,
          "NLLLoss: the gradient of a mean needs total_weight");
    engine::dnn().nll_loss_backward(stream, args);
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
