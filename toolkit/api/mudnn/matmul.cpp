// SPDX-License-Identifier: Apache-2.0
// muDNN's MatMul and BatchMatMul.
#include "toolkit/api/mudnn/checks.h"
#include "toolkit/engine/fault.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::Dtype;
using engine::MatmulArgs;
using engine::View;

bool is_type(Dtype type) {
  return type <= Dtype::kDouble || type == Dtype::kInt64;
}

struct Extents {
  int64_t rows;
  int64_t columns;
};

Extents extents(const View& v, bool transpose) {
  const int last = v.rank - 1;
  return transpose ? Extents{v.dims[last], v.dims[last - 1]}
                   : Extents{v.dims[last - 1], v.dims[last]};
}

// A vector on the right makes a vector.
bool ranks_fit(const MatmulArgs& args, int rank) {
  if (args.a.rank != rank)
    return false;
  if (rank == 2 && args.b.rank == 1)
    return args.d.rank == 1;
  return args.b.rank == rank && args.d.rank == rank;
}

// One matrix for every batch has batch extent 1.
bool batches_fit(const MatmulArgs& args) {
  const int64_t batch = args.d.dims[0];
  const int64_t a = args.a.dims[0];
  const int64_t b = args.b.dims[0];
  return (a == batch || a == 1) && (b == batch || b == 1) &&
      (a == batch || b == batch);
}

Status check_sizes(const char* name, const MatmulArgs& args, int rank) {
  if (!ranks_fit(args, rank))
    return api::refuse(
        Status::INVALID_PARAMETER,
        "%s: ranks %d x %d -> %d do not fit",
        name,
        args.a.rank,
        args.b.rank,
        args.d.rank);
  if (rank == 3 && !batches_fit(args))
    return api::refuse_sizes(name, "the batches");
  const Extents a = extents(args.a, args.transpose_a);
  const Extents b = args.b.rank == 1 ? Extents{args.b.dims[0], 1}
                                     : extents(args.b, args.transpose_b);
  const Extents d =
      args.d.rank == 1 ? Extents{args.d.dims[0], 1} : extents(args.d, false);
  if (a.columns != b.rows || d.rows != a.rows || d.columns != b.columns)
    return api::refuse_sizes(name, "the matrices");
  if (args.c.rank != 0 && !api::same_dims(args.c, args.d))
    return api::refuse_sizes(name, "c");
  if (args.bias.rank != 0 &&
      (args.bias.rank != 1 || args.bias.dims[0] != d.columns))
    return api::refuse_sizes(name, "bias");
  return Status::SUCCESS;
}

// Batches that repeat one matrix by stride 0 are refused apart (quirk 42).
bool repeats_batch(const View& v) {
  return v.rank == 3 && v.dims[0] > 1 && v.strides[0] == 0;
}

Status check(const char* name, const MatmulArgs& args, int rank, bool fused) {
  for (const View* v : {&args.a, &args.b}) {
    if (repeats_batch(*v))
      return api::refuse(
          Status::INVALID_PARAMETER,
          "%s: a batch of stride 0 must have extent 1",
          name);
  }
  Status status = api::check_dense(
      name,
      {{"the result", &args.d}, {"a", &args.a}, {"b", &args.b}});
  if (status == Status::SUCCESS)
    status = api::check_optional(name, {{"c", &args.c}, {"bias", &args.bias}});
  if (status != Status::SUCCESS)
    return status;
  const Dtype type = args.d.dtype;
  if (!is_type(type) || (fused && type == Dtype::kDouble))
    return api::refuse_type(name, "the result", type);
  for (const View* v : {&args.a, &args.b, &args.c, &args.bias}) {
    if (v->rank != 0 && v->dtype != type)
      return api::refuse_type(name, "an operand", v->dtype);
  }
  return check_sizes(name, args, rank);
}

Status run(
    const char* name,
    Handle& handle,
    int rank,
    bool fused,
    ComputeMode mode,
    MatmulArgs& args,
    const MemoryMaintainer& maintainer) {
  return api::run(name, handle, [&](engine::Stream& stream) {
    const Status status = check(name, args, rank, fused);
    if (status != Status::SUCCESS)
      return status;
    // Nothing to sum up leaves the result alone (quirk 43).
    if (args.d.numel == 0 || args.a.numel == 0)
      return Status::SUCCESS;
    args.tf32 = mode == ComputeMode::TENSOR && Access::tf32(handle) &&
        !engine::planted("no_tf32");
    const api::OptionalWorkspace workspace(
        stream,
        engine::dnn().matmul_workspace_bytes(args),
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "%s: no workspace", name);
    args.workspace = workspace.get();
    engine::dnn().matmul(stream, args);
    return Status::SUCCESS;
  });
}

// The result, a and b; c is the result itself where it counts.
MatmulArgs
operands(const Tensor& d, const Tensor& a, const Tensor& b, double beta) {
  MatmulArgs args;
  args.d = Access::view(d);
  args.a = Access::view(a);
  args.b = Access::view(b);
  args.beta = beta;
  if (beta != 0)
    args.c = args.d;
  return args;
}

} // namespace

// Both classes have the same members and the same three calls.
#define MUSA_MATMUL_ARGS(d, a, b)             \
  MatmulArgs args = operands(d, a, b, beta_); \
  args.alpha = alpha_;                        \
  args.gamma = gamma_;                        \
  args.transpose_a = transpose_a_;            \
  args.transpose_b = transpose_b_

#define MUSA_MATMUL(Class, rank)                                              \
  Status Class::Run(                                                          \
      Handle& handle,                                                         \
      Tensor& c,                                                              \
      const Tensor& a,                                                        \
      const Tensor& b,                                                        \
      const MemoryMaintainer& maintainer) {                                   \
    MUSA_MATMUL_ARGS(c, a, b);                                                \
    return run(#Class, handle, rank, false, compute_mode_, args, maintainer); \
  }                                                                           \
  Status Class::RunWithBiasAdd(                                               \
      Handle& handle,                                                         \
      Tensor& d,                                                              \
      const Tensor& a,                                                        \
      const Tensor& b,                                                        \
      const Tensor& c,                                                        \
      const Tensor& bias,                                                     \
      const MemoryMaintainer& maintainer) {                                   \
    MUSA_MATMUL_ARGS(d, a, b);                                                \
    args.c = Access::view(c);                                                 \
    args.bias = Access::view(bias);                                           \
    return run(#Class, handle, rank, true, compute_mode_, args, maintainer);  \
  }                                                                           \
  Status Class::RunWithBiasAdd(                                               \
      Handle& handle,                                                         \
      Tensor& c,                                                              \
      const Tensor& a,                                                        \
      const Tensor& b,                                                        \
      const Tensor& bias,                                                     \
      const MemoryMaintainer& maintainer) {                                   \
    MUSA_MATMUL_ARGS(c, a, b);                                                \
    args.bias = Access::view(bias);                                           \
    return run(#Class, handle, rank, true, compute_mode_, args, maintainer);  \
  }

MUSA_MATMUL(MatMul, 2)
MUSA_MATMUL(BatchMatMul, 3)

} // namespace portable_1
} // namespace musa::dnn
