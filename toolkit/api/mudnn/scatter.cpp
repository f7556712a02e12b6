// SPDX-License-Identifier: Apache-2.0
// muDNN's Scatter.
#include "toolkit/api/mudnn/checks.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::Dtype;
using engine::ScatterMode;
using engine::View;

bool sizes_fit(
    const View& self,
    const View& index,
    const View& update,
    int dim) {
  if (index.rank != self.rank || update.rank != self.rank)
    return false;
  for (int d = 0; d < self.rank; ++d) {
    if (index.dims[d] > update.dims[d] ||
        (d != dim && index.dims[d] > self.dims[d]))
      return false;
  }
  return true;
}

bool takes_type(ScatterMode mode, Dtype type) {
  return mode == ScatterMode::kUpdate
      ? engine::element_bytes(type) != 0
      : engine::is_floating(type) || engine::is_integral(type);
}

} // namespace

Status Scatter::Run(
    Handle& handle,
    Tensor& self,
    const Tensor& index,
    const Tensor& update,
    int dim,
    const MemoryMaintainer& /*maintainer*/) {
  return api::run("Scatter", handle, [&](engine::Stream& stream) {
    const View s = Access::view(self);
    const View i = Access::view(index);
    const View u = Access::view(update);
    const Status status = api::check_dense(
        "Scatter",
        {{"self", &s}, {"index", &i}, {"update", &u}});
    if (status != Status::SUCCESS)
      return status;
    if (i.dtype != Dtype::kInt32 && i.dtype != Dtype::kInt64)
      return api::refuse_type("Scatter", "index", i.dtype);
    const auto mode = static_cast<ScatterMode>(mode_);
    if (u.dtype != s.dtype || !takes_type(mode, s.dtype))
      return api::refuse_type("Scatter", "update", u.dtype);
    const int axis = api::normal_axis(dim, s.rank);
    if (axis < 0 || i.numel == 0 || s.numel == 0 || !sizes_fit(s, i, u, axis))
      return api::refuse_sizes("Scatter", "the operands");
    engine::dnn().scatter(stream, mode, s, i, u, axis);
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
