// SPDX-License-Identifier: Apache-2.0
// muDNN's Nonzero and MaskedSelect: the two that wait.
#include "toolkit/api/mudnn/checks.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

using engine::Dtype;
using engine::View;

Status Nonzero::Run(
    Handle& handle,
    Tensor& out,
    const Tensor& in,
    const MemoryMaintainer& maintainer) {
  return api::run("Nonzero", handle, [&](engine::Stream& stream) {
    const View o = Access::view(out);
    const View x = Access::view(in);
    const Status status =
        api::check_dense("Nonzero", {{"out", &o}, {"in", &x}});
    if (status != Status::SUCCESS)
      return status;
    if (x.dtype > Dtype::kBool)
      return api::refuse_type("Nonzero", "in", x.dtype);
    if (o.dtype != Dtype::kInt64)
      return api::refuse_type("Nonzero", "out", o.dtype);
    if (x.numel == 0 || o.rank != 2 || o.dims[0] < x.numel ||
        o.dims[1] != x.rank)
      return api::refuse_sizes("Nonzero", "the operands");
    const api::WorkspaceScope workspace(
        engine::Family::kNonzero,
        x,
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "Nonzero: no workspace");
    const int64_t count = engine::dnn().nonzero(stream, o, x, workspace.get());
    return out.SetNdInfo({count, x.rank});
  });
}

Status MaskedSelect::Run(
    Handle& handle,
    Tensor& out,
    const Tensor& in,
    const Tensor& mask,
    const MemoryMaintainer& maintainer) {
  return api::run("MaskedSelect", handle, [&](engine::Stream& stream) {
    const View o = Access::view(out);
    const View x = Access::view(in);
    const View m = Access::view(mask);
    const Status status = api::check_dense(
        "MaskedSelect",
        {{"out", &o}, {"in", &x}, {"mask", &m}});
    if (status != Status::SUCCESS)
      return status;
    if (m.dtype != Dtype::kBool)
      return api::refuse_type("MaskedSelect", "mask", m.dtype);
    if (o.dtype != x.dtype || engine::element_bytes(x.dtype) == 0)
      return api::refuse_type("MaskedSelect", "out", o.dtype);
    if (x.numel == 0 || !api::same_dims(x, m) || o.rank != 1 ||
        o.dims[0] < x.numel)
      return api::refuse_sizes("MaskedSelect", "the operands");
    const api::WorkspaceScope workspace(
        engine::Family::kMaskedSelect,
        x,
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "MaskedSelect: no workspace");
    const int64_t count =
        engine::dnn().masked_select(stream, o, x, m, workspace.get());
    return out.SetNdInfo({count});
  });
}

} // namespace portable_1
} // namespace musa::dnn
