// SPDX-License-Identifier: Apache-2.0
// Layer normalisation on the CUDA engine: which kernels, on which grids.
#include "toolkit/engine/cuda/layer_norm_kernels.h"

#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/row_grid.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

void* address(const View& v) {
  return v.present() ? v.address : nullptr;
}

bool packed_rows(const LayerNormJob& job, int pack) {
  return packable_rows(
      job.columns,
      pack,
      {job.in, job.out, job.grad_out, job.gamma, job.beta});
}

unsigned blocks_for(int64_t n, int64_t each) {
  return static_cast<unsigned>((n + each - 1) / each);
}

// Parts of the rows that the workspace has room for.
int64_t room_for_parts(const LayerNormJob& job, Dtype dtype, Workspace w) {
  if (w.address == nullptr)
    return 1;
  const int64_t statistic = dtype == Dtype::kDouble ? 8 : 4;
  const int64_t part = job.columns * 2 * statistic;
  return std::max<int64_t>(static_cast<int64_t>(w.bytes) / part, 1);
}

void join_parts(
    engine::Stream& stream,
    const LayerNormBackwardKernels& kernels,
    const LayerNormJob& job) {
  launch(
      stream,
      kernels.join,
      dim3(blocks_for(job.columns, kWarp), 2),
      dim3(kWarp, kJoinThreads),
      0,
      job);
}

// Rows of any length: the input's gradient, then the columns' sums.
void run_walked(
    engine::Stream& stream,
    const LayerNormBackwardKernels& kernels,
    LayerNormJob job,
    bool packed,
    int64_t room,
    void* partial) {
  if (job.out != nullptr)
    launch(
        stream,
        packed ? kernels.input.walked_packed : kernels.input.walked,
        dim3(static_cast<unsigned>(job.rows)),
        dim3(kRowThreads),
        0,
        job);
  if (job.grad_gamma == nullptr && job.grad_beta == nullptr)
    return;
  const unsigned blocks = blocks_for(job.columns, kWarp);
  const int64_t wanted =
      int64_t{8} * multiprocessors(stream.device()) / blocks + 1;
  const int64_t most =
      std::max<int64_t>(job.rows / (int64_t{8} * kDownThreads), 1);
  job.parts = std::min({wanted, most, room, int64_t{65535}});
  job.partial = job.parts > 1 ? partial : nullptr;
  launch(
      stream,
      kernels.affine,
      dim3(blocks, static_cast<unsigned>(job.parts)),
      dim3(kWarp, kDownThreads),
      0,
      job);
  if (job.parts > 1)
    join_parts(stream, kernels, job);
}

void run_held(
    engine::Stream& stream,
    const LayerNormBackwardKernels& kernels,
    LayerNormJob job,
    bool packed,
    RowGrid g,
    int64_t room,
    void* partial) {
  const int elements = packed ? g.pack * g.each : (g.each > 1 ? 8 : 1);
  const int64_t resident = int64_t{multiprocessors(stream.device())} *
      held_blocks(elements) * 256 / (g.x * g.y);
  const bool affine = job.grad_gamma != nullptr || job.grad_beta != nullptr;
  g.blocks = std::min(g.blocks, std::max<int64_t>(resident, 1));
  if (affine)
    g.blocks = std::min(g.blocks, room);
  job.parts = g.blocks;
  job.partial = affine && job.parts > 1 ? partial : nullptr;
  launch(
      stream,
      kernels.input.held(packed, g.each),
      g.grid(),
      g.block(),
      0,
      job);
  if (job.partial != nullptr)
    join_parts(stream, kernels, job);
}

} // namespace

void CudaDnn::layer_norm(Stream& stream, const LayerNormArgs& args) {
  LayerNormJob job{};
  job.wide_affine = args.gamma.present() && args.gamma.dtype != args.in.dtype;
  job.rows = args.rows;
  job.columns = args.columns;
  job.epsilon = args.epsilon;
  job.out = args.out.address;
  job.in = args.in.address;
  job.mean = address(args.mean);
  job.rstd = address(args.rstd);
  job.gamma = address(args.gamma);
  job.beta = address(args.beta);
  if (job.rows == 0 || job.columns == 0)
    return;
  const LayerNormKernels kernels = layer_norm_kernels(args.in.dtype);
  const bool packed = packed_rows(job, kernels.pack);
  const RowGrid g = row_grid(
      job.rows,
      job.columns,
      packed ? kernels.pack : 1,
      packed ? kernels.most_packed : kernels.most,
      stream.device());
  const LayerNormKernel walked =
      packed ? kernels.walked_packed : kernels.walked;
  launch(
      stream,
      g.each > 0 ? kernels.held(packed, g.each) : walked,
      g.grid(),
      g.block(),
      0,
      job);
}

void CudaDnn::layer_norm_backward(
    Stream& stream,
    const LayerNormBackwardArgs& args) {
  const Dtype dtype = args.in.dtype;
  const Dtype affine = args.gamma.present() ? args.gamma.dtype
      : args.grad_gamma.present()           ? args.grad_gamma.dtype
      : args.grad_beta.present()            ? args.grad_beta.dtype
                                            : dtype;
  LayerNormJob job{};
  job.wide_affine = affine != dtype;
  job.rows = args.rows;
  job.columns = args.columns;
  job.out = address(args.grad_in);
  job.in = args.in.address;
  job.grad_out = args.grad_out.address;
  job.mean = args.mean.address;
  job.rstd = args.rstd.address;
  job.gamma = address(args.gamma);
  job.grad_gamma = address(args.grad_gamma);
  job.grad_beta = address(args.grad_beta);
  job.parts = 1;
  if (job.rows == 0 || job.columns == 0)
    return;
  const LayerNormBackwardKernels kernels = layer_norm_backward_kernels(dtype);
  const bool packed = packed_rows(job, kernels.input.pack);
  // Eight elements a thread let twice as many threads stay on a processor; more
  // are for rows that are too long otherwise.
  const int pack = packed ? kernels.input.pack : 1;
  const int few = std::max(8 / pack, 1);
  const bool long_rows = job.columns > int64_t{kRowThreads} * pack * few;
  const RowGrid g = row_grid(
      job.rows,
      job.columns,
      pack,
      packed && long_rows ? kernels.input.most_packed : few,
      stream.device());
  const int64_t room = room_for_parts(job, dtype, args.workspace);
  if (g.each == 0) {
    run_walked(stream, kernels, job, packed, room, args.workspace.address);
  } else {
    run_held(stream, kernels, job, packed, g, room, args.workspace.address);
  }
}

} // namespace musa_standin::engine::cuda
