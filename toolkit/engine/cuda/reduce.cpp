// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's reductions: which loop, on which grid.
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/pack.h"
#include "toolkit/engine/cuda/reduce_kernels.h"
#include "toolkit/engine/error.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

enum class Kind { kFold, kMoments, kArg };

// Of a block that takes a part of an output's elements.
constexpr int kSplitThreads = 256;

struct Plan {
  Kind kind = Kind::kFold;
  Fold fold = Fold::kSum;
  bool columns = false;
  ReduceKernels kernels{};
  int threads_x = 1;
  int threads_y = 1;
  int64_t blocks = 1;
  size_t room = 0; // of the workspace
};

Fold fold_of(const ReduceArgs& args) {
  switch (args.mode) {
  case ReduceMode::kMax:
  case ReduceMode::kMaxUnstable:
    return Fold::kMax;
  case ReduceMode::kMin:
  case ReduceMode::kMinUnstable:
    return Fold::kMin;
  case ReduceMode::kProd:
    return Fold::kProduct;
  case ReduceMode::kMulNoZeros:
    return Fold::kProductNonzero;
  case ReduceMode::kAnd:
    return Fold::kAnd;
  case ReduceMode::kOr:
    return Fold::kOr;
  case ReduceMode::kL2Loss:
    return Fold::kSumSquare;
  case ReduceMode::kNorm:
    if (args.order == 2.0F)
      return Fold::kSumSquare;
    return args.order == 1.0F ? Fold::kSumAbs : Fold::kSumPower;
  default:
    return Fold::kSum;
  }
}

Kind kind_of(const ReduceArgs& args) {
  if (args.indices.present())
    return Kind::kArg;
  const bool moments =
      args.mode == ReduceMode::kVariance || args.mode == ReduceMode::kStd;
  return moments ? Kind::kMoments : Kind::kFold;
}

FoldType type_of(Dtype dtype) {
  if (dtype == Dtype::kDouble)
    return FoldType::kDouble;
  return is_floating(dtype) ? FoldType::kFloat : FoldType::kWhole;
}

ReduceKernels packed_kernels(const Plan& plan, Dtype dtype) {
  switch (plan.kind) {
  case Kind::kArg:
    return packed_arg_kernels(plan.fold == Fold::kMax, dtype);
  case Kind::kMoments:
    return packed_moment_kernels(dtype);
  default:
    return packed_fold_kernels(plan.fold, dtype);
  }
}

ReduceKernels any_kernels(const Plan& plan, Dtype dtype) {
  switch (plan.kind) {
  case Kind::kArg:
    return arg_kernels(plan.fold == Fold::kMax, type_of(dtype));
  case Kind::kMoments:
    return moment_kernels(type_of(dtype));
  default:
    return fold_kernels(plan.fold, type_of(dtype));
  }
}

// Are outputs, not elements, the neighbours in memory?
bool side_by_side(const ReduceJob& job) {
  const int64_t kept = job.kept.last_stride();
  const int64_t gone = job.gone.last_stride();
  return job.outputs > 1 && job.reduced > 1 && kept != 0 &&
      (gone == 0 || kept < gone);
}

bool fits_packs(const ReduceJob& job, bool columns, int64_t width) {
  const Axes& along = columns ? job.kept : job.gone;
  const Axes& across = columns ? job.gone : job.kept;
  // A lone output has one axis of one step, whatever its stride.
  const bool lone = across.rank == 1 && across.last_dim() == 1;
  if (!packable(job.in) || along.last_stride() != 1 || !along.in_steps(width) ||
      !across.in_steps(width) || (!lone && across.last_stride() % width != 0))
    return false;
  // One axis alone may leave a few elements over.
  const bool loose = !columns && along.rank == 1;
  return loose ? along.last_dim() >= width : along.last_dim() % width == 0;
}

void choose_kernels(Plan& plan, ReduceJob& job) {
  plan.columns = side_by_side(job);
  plan.kernels = packed_kernels(plan, job.dtype);
  if (plan.kernels.rows != nullptr &&
      fits_packs(job, plan.columns, plan.kernels.pack)) {
    (plan.columns ? job.kept : job.gone).pack(plan.kernels.pack);
    return;
  }
  plan.kernels = any_kernels(plan, job.dtype);
  if (plan.kernels.rows == nullptr)
    throw Error(musaErrorNotSupported, "the engine has no such reduction");
}

int64_t blocks_for(int64_t n, int64_t each) {
  return (n + each - 1) / each;
}

// Parts of each output's elements: at least `least` steps for each, `wanted`
// blocks in all, and room for their states.
int splits_of(
    const Plan& plan,
    const ReduceJob& job,
    int64_t steps,
    int64_t least,
    int64_t wanted) {
  const int64_t most = 65535;
  const int64_t room = static_cast<int64_t>(plan.room) /
      (plan.kernels.state_bytes * job.outputs);
  const int64_t splits =
      std::min({most, room, wanted / plan.blocks, steps / least});
  return static_cast<int>(std::max<int64_t>(splits, 1));
}

void plan_rows(Plan& plan, ReduceJob& job, int processors) {
  const int64_t packs = job.reduced / plan.kernels.pack;
  int x = 1;
  while (x < kWarp && x * 2 <= packs)
    x *= 2;
  const int64_t busy = int64_t{512} * processors;
  while (x < kReduceThreads &&
         (packs >= int64_t{16} * x ||
          (packs >= int64_t{2} * x && job.outputs * x < busy)))
    x *= 2;
  int y = std::max(1, 256 / x);
  while (y > 1 && x * y > kWarp && job.outputs <= y / 2)
    y /= 2;
  plan.blocks = blocks_for(job.outputs, y);
  // Several waves of blocks: one that begins late then delays little.
  if (x >= kSplitThreads && plan.blocks < int64_t{2} * processors)
    job.splits = splits_of(
        plan,
        job,
        packs,
        int64_t{8} * kSplitThreads,
        int64_t{16} * processors);
  plan.threads_x = job.splits > 1 ? kSplitThreads : x;
  plan.threads_y = y;
}

void plan_columns(Plan& plan, ReduceJob& job, int processors) {
  const int64_t packs = job.outputs / plan.kernels.pack;
  int x = 1;
  while (x < kWarp && x < packs)
    x *= 2;
  int y = kColumnThreads / x;
  while (y > 1 && x * y > kWarp && job.reduced < int64_t{4} * y)
    y /= 2;
  plan.threads_x = x;
  plan.threads_y = y;
  plan.blocks = blocks_for(packs, x);
  if (plan.blocks < int64_t{4} * processors)
    job.splits = splits_of(
        plan,
        job,
        job.reduced,
        int64_t{8} * y,
        int64_t{4} * processors);
}

void run(engine::Stream& stream, const Plan& plan, const ReduceJob& job) {
  launch(
      stream,
      plan.columns ? plan.kernels.columns : plan.kernels.rows,
      dim3(
          static_cast<unsigned>(plan.blocks),
          static_cast<unsigned>(job.splits)),
      dim3(
          static_cast<unsigned>(plan.threads_x),
          static_cast<unsigned>(plan.threads_y)),
      0,
      job);
  if (job.splits == 1)
    return;
  unsigned x = 1;
  while (x < kWarp && x < job.outputs)
    x *= 2;
  launch(
      stream,
      plan.kernels.join,
      dim3(static_cast<unsigned>(blocks_for(job.outputs, x))),
      dim3(x, kColumnThreads / x),
      0,
      job);
}

} // namespace

void CudaDnn::reduce(Stream& stream, const ReduceArgs& args) {
  const View& in = args.in;
  Plan plan;
  plan.kind = kind_of(args);
  plan.fold = fold_of(args);
  plan.room = args.workspace.address != nullptr ? args.workspace.bytes : 0;
  ReduceJob job;
  job.in = in.address;
  job.out = args.out.address;
  job.indices = static_cast<int64_t*>(args.indices.address);
  job.partial = args.workspace.address;
  job.dtype = in.dtype;
  job.out_dtype = args.out.present() ? args.out.dtype : in.dtype;
  job.mode = args.mode;
  job.correction = args.correction;
  job.splits = 1;
  job.order = args.order;
  job.outputs = 1;
  job.reduced = 1;
  for (int d = 0; d < in.rank; ++d) {
    const bool gone = (args.axes >> d & 1U) != 0;
    (gone ? job.reduced : job.outputs) *= in.dims[d];
    (gone ? job.gone : job.kept).add(in.dims[d], in.strides[d]);
  }
  job.kept.merge(/*keep_order=*/true);
  job.gone.merge(plan.kind == Kind::kArg);
  choose_kernels(plan, job);
  const int processors = multiprocessors(stream.device());
  if (plan.columns) {
    plan_columns(plan, job, processors);
  } else {
    plan_rows(plan, job, processors);
  }
  job.kept.finish();
  job.gone.finish();
  if (job.outputs != 0)
    run(stream, plan, job);
}

} // namespace musa_standin::engine::cuda
