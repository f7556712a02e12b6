// SPDX-License-Identifier: Apache-2.0
// muDNN's Softmax.
#include "toolkit/api/mudnn/checks.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::View;

// out has in's sizes, or where the axis is summed up, one or no extent there.
bool result_fits(const View& out, const View& in, int axis) {
  if (out.rank != in.rank && out.rank != in.rank - 1 &&
      !(in.rank == 1 && out.rank == 1))
    return false;
  int at = 0;
  for (int i = 0; i < in.rank; ++i) {
    if (i == axis && out.rank == in.rank - 1)
      continue;
    const int64_t extent = i == axis ? 1 : in.dims[i];
    if (out.dims[at++] != extent)
      return false;
  }
  return true;
}

} // namespace

Status Softmax::Run(
    Handle& handle,
    Tensor& out,
    const Tensor& in,
    const MemoryMaintainer& /*maintainer*/) {
  return api::run("Softmax", handle, [&](engine::Stream& stream) {
    const View o = Access::view(out);
    const View x = Access::view(in);
    const Status status =
        api::check_dense("Softmax", {{"out", &o}, {"in", &x}});
    if (status != Status::SUCCESS)
      return status;
    if (!engine::is_floating(x.dtype) || o.dtype != x.dtype)
      return api::refuse_type("Softmax", "in and out", x.dtype);
    const int axis = api::normal_axis(dim_, x.rank);
    if (axis < 0)
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Softmax: in has no axis %d",
          dim_);
    const bool reduces = mode_ == Mode::LOGSUMEXP;
    if (reduces ? !result_fits(o, x, axis) : !api::same_dims(o, x))
      return api::refuse_sizes("Softmax", "out");
    if (x.numel == 0)
      return Status::SUCCESS;
    engine::dnn()
        .softmax(stream, static_cast<engine::SoftmaxMode>(mode_), o, x, axis);
    return Status::SUCCESS;
  });
}

Status Softmax::RunBwd(
    Handle& handle,
    Tensor& grad_in,
    const Tensor& out,
    const Tensor& grad_out,
    const MemoryMaintainer& /*maintainer*/) {
  return api::run("SoftmaxBackward", handle, [&](engine::Stream& stream) {
    const View result = Access::view(grad_in);
    const View o = Access::view(out);
    const View grad = Access::view(grad_out);
    const Status status = api::check_dense(
        "Softmax",
        {{"grad_in", &result}, {"out", &o}, {"grad_out", &grad}});
    if (status != Status::SUCCESS)
      return status;
    // Its gradient needs the input, which this call does not have.
    if (mode_ == Mode::LOGSUMEXP)
      return api::refuse(
          Status::NOT_SUPPORTED,
          "Softmax: LOGSUMEXP has no backward pass");
    if (!engine::is_floating(o.dtype) || grad.dtype != o.dtype ||
        result.dtype != o.dtype)
      return api::refuse_type("Softmax", "the gradients", grad.dtype);
    const int axis = api::normal_axis(dim_, o.rank);
    if (axis < 0)
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Softmax: out has no axis %d",
          dim_);
    if (!api::same_dims(result, o) || !api::same_dims(grad, o))
      return api::refuse_sizes("Softmax", "the gradients");
    if (o.numel == 0)
      return Status::SUCCESS;
    engine::dnn().softmax_backward(
        stream,
        static_cast<engine::SoftmaxMode>(mode_),
        result,
        o,
        grad,
        axis);
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
