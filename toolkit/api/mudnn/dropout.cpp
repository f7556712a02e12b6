// SPDX-License-Identifier: Apache-2.0
// muDNN's Dropout.
#include "toolkit/api/mudnn/checks.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::View;

Status check(const View& out, const View& in, const View& mask) {
  const Status status = api::check_dense(
      "Dropout",
      {{"out", &out}, {"in", &in}, {"mask", &mask}});
  if (status != Status::SUCCESS)
    return status;
  if (!engine::is_floating(in.dtype) || out.dtype != in.dtype)
    return api::refuse_type("Dropout", "in and out", in.dtype);
  if (mask.dtype != engine::Dtype::kBool)
    return api::refuse_type("Dropout", "mask", mask.dtype);
  if (!api::same_dims(out, in) || !api::same_dims(mask, in))
    return api::refuse_sizes("Dropout", "the operands");
  return Status::SUCCESS;
}

} // namespace

Status Dropout::RunDropout(
    Handle& handle,
    Tensor& out,
    const Tensor& in,
    Tensor& mask) {
  return api::run("Dropout", handle, [&](engine::Stream& stream) {
    engine::DropoutArgs args;
    args.out = Access::view(out);
    args.in = Access::view(in);
    args.mask = Access::view(mask);
    const Status status = check(args.out, args.in, args.mask);
    if (status != Status::SUCCESS)
      return status;
    if (!(p_ >= 0 && p_ <= 1))
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Dropout: p = %g is no probability",
          p_);
    if (args.in.numel == 0)
      return Status::SUCCESS;
    args.p = p_;
    args.scale = has_scale_ ? scale_ : 1 / (1 - p_);
    args.seed = seed_;
    args.offset = offset_;
    args.seed_pointer = seed_pointer_;
    args.offset_pointer = offset_pointer_;
    engine::dnn().dropout(stream, args);
    return Status::SUCCESS;
  });
}

Status Dropout::RunDropoutBwd(
    Handle& handle,
    Tensor& grad_in,
    const Tensor& grad_out,
    const Tensor& mask) {
  return api::run("DropoutBackward", handle, [&](engine::Stream& stream) {
    const View result = Access::view(grad_in);
    const View grad = Access::view(grad_out);
    const View kept = Access::view(mask);
    const Status status = check(result, grad, kept);
    if (status != Status::SUCCESS)
      return status;
    if (grad.numel == 0)
      return Status::SUCCESS;
    const double scale = has_scale_ ? scale_ : 1 / (1 - p_);
    engine::dnn().dropout_backward(stream, result, grad, kept, scale);
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
