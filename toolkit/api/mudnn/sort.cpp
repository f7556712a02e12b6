// SPDX-License-Identifier: Apache-2.0
// muDNN's Sort and TopK.
#include "toolkit/api/mudnn/checks.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::Dtype;
using engine::View;

// The operands but for their sizes.
Status
check(const char* op, const View& values, const View& indices, const View& in) {
  const Status status = api::check_dense(
      op,
      {{"values", &values}, {"indices", &indices}, {"in", &in}});
  if (status != Status::SUCCESS)
    return status;
  if (indices.dtype != Dtype::kInt64)
    return api::refuse_type(op, "indices", indices.dtype);
  if (values.dtype != in.dtype)
    return api::refuse_type(op, "values", values.dtype);
  if (in.numel == 0)
    return api::refuse_sizes(op, "in");
  return Status::SUCCESS;
}

// in's sizes, but k along dim.
bool has_k(const View& v, const View& in, int dim, int64_t k) {
  if (v.rank != in.rank)
    return false;
  for (int d = 0; d < in.rank; ++d) {
    if (v.dims[d] != (d == dim ? k : in.dims[d]))
      return false;
  }
  return true;
}

} // namespace

Status Sort::Run(
    Handle& handle,
    Tensor& values,
    Tensor& indices,
    const Tensor& in,
    const MemoryMaintainer& maintainer) {
  return api::run("Sort", handle, [&](engine::Stream& stream) {
    engine::SortArgs args;
    args.values = Access::view(values);
    args.indices = Access::view(indices);
    args.in = Access::view(in);
    const Status status = check("Sort", args.values, args.indices, args.in);
    if (status != Status::SUCCESS)
      return status;
    const Dtype type = args.in.dtype;
    if (!engine::is_floating(type) && !engine::is_integral(type))
      return api::refuse_type("Sort", "in", type);
    args.dim = api::normal_axis(dim_, args.in.rank);
    if (args.dim < 0 || !api::same_dims(args.values, args.in) ||
        !api::same_dims(args.indices, args.in))
      return api::refuse_sizes("Sort", "the results");
    args.descending = descending_;
    args.stable = stable_;
    const api::WorkspaceScope workspace(
        engine::Family::kSort,
        args.in,
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "Sort: no workspace");
    args.workspace = workspace.get();
    engine::dnn().sort(stream, args);
    return Status::SUCCESS;
  });
}

Status TopK::Run(
    Handle& handle,
    Tensor& values,
    Tensor& indices,
    const Tensor& in,
    const MemoryMaintainer& maintainer) {
  return api::run("TopK", handle, [&](engine::Stream& stream) {
    engine::TopkArgs args;
    args.values = Access::view(values);
    args.indices = Access::view(indices);
    args.in = Access::view(in);
    const Status status = check("TopK", args.values, args.indices, args.in);
    if (status != Status::SUCCESS)
      return status;
    const Dtype type = args.in.dtype;
    if (!engine::is_floating(type) && type != Dtype::kInt32)
      return api::refuse(
          Status::NOT_SUPPORTED,
          "Unsupported in data type: %s, TopKPreProcess failed",
          api::type_name(type));
    args.dim = api::normal_axis(dim_, args.in.rank);
    if (args.dim < 0 || k_ < 1 || k_ > args.in.dims[args.dim] ||
        !has_k(args.values, args.in, args.dim, k_) ||
        !has_k(args.indices, args.in, args.dim, k_))
      return api::refuse_sizes("TopK", "k or the results");
    args.k = k_;
    args.largest = largest_;
    args.sorted = sorted_;
    const api::WorkspaceScope workspace(
        engine::Family::kTopk,
        args.in,
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "TopK: no workspace");
    args.workspace = workspace.get();
    engine::dnn().topk(stream, args);
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
