// SPDX-License-Identifier: Apache-2.0
// muDNN's GatherX.
#include "toolkit/api/mudnn/checks.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::Dtype;
using engine::GatherMode;
using engine::View;

// Do v's extents from `at` on equal these of `from`? Moves `at` behind them.
bool takes(const View& v, int& at, const View& from, int begin, int end) {
  for (int d = begin; d < end; ++d, ++at) {
    if (at >= v.rank || v.dims[at] != from.dims[d])
      return false;
  }
  return true;
}

// out = in[:axis] + index[batch:] + in[axis + 1:]
bool slices_fit(
    const View& out,
    const View& index,
    const View& in,
    int axis,
    int batch) {
  if (batch < 0 || batch > axis || batch > index.rank)
    return false;
  for (int d = 0; d < batch; ++d) {
    if (index.dims[d] != in.dims[d])
      return false;
  }
  int at = 0;
  return takes(out, at, in, 0, axis) &&
      takes(out, at, index, batch, index.rank) &&
      takes(out, at, in, axis + 1, in.rank) &&
      (at == out.rank || (at == 0 && out.numel == 1));
}

bool elements_fit(
    const View& out,
    const View& index,
    const View& in,
    int axis) {
  if (!api::same_dims(out, index) || in.rank != index.rank)
    return false;
  for (int d = 0; d < in.rank; ++d) {
    if (d != axis && index.dims[d] > in.dims[d])
      return false;
  }
  return true;
}

// out = index[:-1] + in[k:]
bool coordinates_fit(
    const View& out,
    const View& index,
    const View& in,
    int batch) {
  const int64_t k = index.dims[index.rank - 1];
  if (batch != 0 || k < 1 || k > in.rank)
    return false;
  int at = 0;
  return takes(out, at, index, 0, index.rank - 1) &&
      takes(out, at, in, static_cast<int>(k), in.rank) &&
      (at == out.rank || (at == 0 && out.numel == 1));
}

} // namespace

Status GatherX::Run(
    Handle& handle,
    Tensor& out,
    const Tensor& index,
    const Tensor& in) {
  return api::run("GatherX", handle, [&](engine::Stream& stream) {
    const View o = Access::view(out);
    const View i = Access::view(index);
    const View x = Access::view(in);
    const Status status =
        api::check_dense("GatherX", {{"out", &o}, {"index", &i}, {"in", &x}});
    if (status != Status::SUCCESS)
      return status;
    if (i.dtype != Dtype::kInt32 && i.dtype != Dtype::kInt64)
      return api::refuse_type("GatherX", "index", i.dtype);
    if (o.dtype != x.dtype || engine::element_bytes(x.dtype) == 0)
      return api::refuse_type("GatherX", "out", o.dtype);
    const int axis = api::normal_axis(axis_, x.rank);
    const auto mode = static_cast<GatherMode>(mode_);
    bool fits = axis >= 0 && o.numel != 0;
    if (mode == GatherMode::kSlices) {
      fits = fits && slices_fit(o, i, x, axis, batch_dims_);
    } else if (mode == GatherMode::kElements) {
      fits = fits && elements_fit(o, i, x, axis);
    } else {
      fits = o.numel != 0 && coordinates_fit(o, i, x, batch_dims_);
    }
    if (!fits)
      return api::refuse_sizes("GatherX", "the operands");
    engine::dnn().gather(stream, mode, o, i, x, axis, batch_dims_);
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
