// SPDX-License-Identifier: Apache-2.0
// muDNN's Dot.
#include "toolkit/api/mudnn/checks.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

Status Dot::Run(
    Handle& handle,
    Tensor& out,
    const Tensor& left,
    const Tensor& right,
    const MemoryMaintainer& maintainer) {
  return api::run("Dot", handle, [&](engine::Stream& stream) {
    const engine::View o = Access::view(out);
    const engine::View l = Access::view(left);
    const engine::View r = Access::view(right);
    const Status status =
        api::check_dense("Dot", {{"out", &o}, {"left", &l}, {"right", &r}});
    if (status != Status::SUCCESS)
      return status;
    if (!engine::is_floating(l.dtype) && l.dtype != engine::Dtype::kInt64)
      return api::refuse_type("Dot", "left", l.dtype);
    if (r.dtype != l.dtype || o.dtype != l.dtype)
      return api::refuse_type("Dot", "an operand", r.dtype);
    if (l.rank != 1 || !api::same_dims(l, r) || o.numel != 1)
      return api::refuse_sizes("Dot", "the operands");
    const api::OptionalWorkspace workspace(
        stream,
        engine::dnn().dot_workspace_bytes(l),
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "Dot: no workspace");
    engine::dnn().dot(stream, o, l, r, workspace.get());
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
