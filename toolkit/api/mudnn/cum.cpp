// SPDX-License-Identifier: Apache-2.0
// muDNN's Cum.
#include "toolkit/api/mudnn/checks.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

using engine::Dtype;
using engine::View;

Status Cum::Run(
    Handle& handle,
    Tensor& out,
    const Tensor& in,
    const MemoryMaintainer& maintainer) {
  return api::run("Cum", handle, [&](engine::Stream& stream) {
    const View o = Access::view(out);
    const View x = Access::view(in);
    const Status status = api::check_dense("Cum", {{"out", &o}, {"in", &x}});
    if (status != Status::SUCCESS)
      return status;
    const int dim = api::normal_axis(dim_, x.rank);
    if (dim < 0 || !api::same_dims(o, x) || x.numel == 0)
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Cum: no such dimension, different sizes, or nothing to do");
    const bool known = engine::is_floating(x.dtype) ||
        x.dtype == Dtype::kInt32 || x.dtype == Dtype::kInt64;
    if (!known || o.dtype != x.dtype)
      return api::refuse(
          Status::NOT_SUPPORTED,
          "Unsupported cum data types: in %s, out %s",
          api::type_name(x.dtype),
          api::type_name(o.dtype));
    const api::OptionalWorkspace workspace(
        stream,
        engine::dnn().workspace_bytes(engine::Family::kCum, x),
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "Cum: no workspace");
    engine::dnn().cum(
        stream,
        static_cast<engine::CumMode>(mode_),
        o,
        x,
        dim,
        workspace.get());
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
