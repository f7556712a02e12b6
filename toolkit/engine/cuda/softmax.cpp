// SPDX-License-Identifier: Apache-2.0
// Softmax on the CUDA engine: which kernel, on which grid.
#include "toolkit/engine/cuda/softmax_kernels.h"

#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/row_grid.h"

namespace musa_standin::engine::cuda {
namespace {

SoftmaxJob make_job(SoftmaxMode mode, const View& in, int dim) {
  SoftmaxJob job{};
  job.mode = mode;
  job.outer = 1;
  job.inner = 1;
  job.extent = in.dims[dim];
  for (int i = 0; i < dim; ++i)
    job.outer *= in.dims[i];
  for (int i = dim + 1; i < in.rank; ++i)
    job.inner *= in.dims[i];
  return job;
}

// Do all operands start at the same place in a pack? A result of one element a
// row takes no part.
bool alike(const SoftmaxJob& job, bool backward) {
  const auto place = [](const void* p) {
    return reinterpret_cast<uintptr_t>(p) % kPackBytes;
  };
  const uintptr_t in = place(job.in);
  if (!backward && job.mode == SoftmaxMode::kLogSumExp)
    return true;
  return place(job.out) == in && (!backward || place(job.grad_in) == in);
}

void run(
    engine::Stream& stream,
    const SoftmaxJob& job,
    const SoftmaxKernels& kernels,
    bool backward) {
  if (job.outer * job.extent * job.inner == 0)
    return;
  if (job.inner > 1) {
    const int64_t lines = job.outer * job.inner;
    launch(
        stream,
        kernels.lines,
        dim3(static_cast<unsigned>((lines + kWarp - 1) / kWarp)),
        dim3(kWarp, kLineThreads),
        0,
        job);
    return;
  }
  const bool same = alike(job, backward);
  const bool packed = same && packable_rows(job.extent, kernels.pack, {job.in});
  const RowGrid g = row_grid(
      job.outer,
      job.extent,
      packed ? kernels.pack : 1,
      packed ? kernels.most_packed : kernels.most,
      stream.device());
  const SoftmaxKernel walked = same ? kernels.walked_packed : kernels.walked;
  launch(
      stream,
      g.each > 0 ? kernels.held(packed, g.each) : walked,
      g.grid(),
      g.block(),
      0,
      job);
}

} // namespace

void CudaDnn::softmax(
    Stream& stream,
    SoftmaxMode mode,
    const View& out,
    const View& in,
    int dim) {
  SoftmaxJob job = make_job(mode, in, dim);
  job.out = out.address;
  job.in = in.address;
  run(stream, job, softmax_forward_kernels(in.dtype), /*backward=*/false);
}

void CudaDnn::softmax_backward(
    Stream& stream,
    SoftmaxMode mode,
    const View& grad_in,
    const View& out,
    const View& grad_out,
    int dim) {
  SoftmaxJob job = make_job(mode, out, dim);
  job.out = out.address;
  job.in = grad_out.address;
  job.grad_in = grad_in.address;
  run(stream, job, softmax_backward_kernels(out.dtype), /*backward=*/true);
}

} // namespace musa_standin::engine::cuda
