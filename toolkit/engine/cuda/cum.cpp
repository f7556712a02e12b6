// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's cumulative sums and products.
#include "toolkit/engine/cuda/cum_kernels.h"

#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/pack.h"
#include "toolkit/engine/error.h"

namespace musa_standin::engine::cuda {
namespace {

constexpr int64_t kShortRow = 16; // a thread does it alone
constexpr int64_t kSumBytes = 8;

CumJob make_job(const View& out, const View& in, int dim) {
  CumJob job{};
  job.out = out.address;
  job.in = in.address;
  job.outer = 1;
  job.inner = 1;
  job.extent = in.dims[dim];
  for (int d = 0; d < dim; ++d)
    job.outer *= in.dims[d];
  for (int d = dim + 1; d < in.rank; ++d)
    job.inner *= in.dims[d];
  return job;
}

void run_lines(
    engine::Stream& stream,
    const CumKernels& kernels,
    const CumJob& job) {
  const int64_t lines = job.outer * job.inner;
  // Few lines: narrow blocks spread over more processors.
  const unsigned threads = lines < kCumThreads * 128 ? 64 : kCumThreads;
  launch(
      stream,
      kernels.lines,
      dim3(static_cast<unsigned>((lines + threads - 1) / threads)),
      dim3(threads),
      0,
      job);
}

void run_rows(
    engine::Stream& stream,
    const CumKernels& kernels,
    const CumJob& job,
    bool packed) {
  const int64_t warp =
      kernels.piece / (kCumThreads / kWarp) / (packed ? 1 : kernels.pack);
  unsigned x = kWarp;
  while (x < kCumThreads && x / kWarp * warp < job.extent)
    x *= 2;
  const unsigned y = kCumThreads / x;
  launch(
      stream,
      packed ? kernels.rows_packed : kernels.rows,
      dim3(static_cast<unsigned>((job.outer + y - 1) / y)),
      dim3(x, y),
      0,
      job);
}

// False: no room.
bool run_pieces(
    engine::Stream& stream,
    const CumKernels& kernels,
    CumJob job,
    bool packed,
    Workspace workspace) {
  const int64_t piece = kernels.piece / (packed ? 1 : kernels.pack);
  job.pieces = (job.extent + piece - 1) / piece;
  const int64_t all = job.outer * job.pieces;
  const int64_t words = (1 + all + 1) / 2 * 2;
  const int64_t bytes = words * 4 + all * kSumBytes * 2;
  if (workspace.address == nullptr ||
      workspace.bytes < static_cast<size_t>(bytes) || all > INT32_MAX)
    return false;
  job.turn = static_cast<uint32_t*>(workspace.address);
  job.told = job.turn + 1;
  job.totals = job.turn + words;
  job.sums = static_cast<char*>(job.totals) + all * kSumBytes;
  check(cudaMemsetAsync(
      job.turn,
      0,
      static_cast<size_t>(words) * 4,
      native(stream)));
  launch(
      stream,
      packed ? kernels.pieces_packed : kernels.pieces,
      dim3(static_cast<unsigned>(all)),
      dim3(kCumThreads),
      0,
      job);
  return true;
}

} // namespace

void CudaDnn::cum(
    Stream& stream,
    CumMode mode,
    const View& out,
    const View& in,
    int dim,
    Workspace workspace) {
  const CumJob job = make_job(out, in, dim);
  if (in.numel == 0)
    return;
  const CumKernels kernels = cum_kernels(mode, in.dtype);
  if (kernels.lines == nullptr)
    throw Error(musaErrorNotSupported, "the engine has no such scan");
  if (job.inner > 1 || job.extent <= kShortRow)
    return run_lines(stream, kernels, job);
  const bool packed = packable(job.in) && packable(job.out) &&
      (job.outer == 1 || job.extent % kernels.pack == 0);
  const int64_t few = int64_t{2} * multiprocessors(stream.device());
  if (job.outer < few && job.extent > int64_t{4} * kernels.piece &&
      run_pieces(stream, kernels, job, packed, workspace))
    return;
  run_rows(stream, kernels, job, packed);
}

} // namespace musa_standin::engine::cuda
