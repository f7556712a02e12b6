// SPDX-License-Identifier: Apache-2.0
// Softmax on the CPU engine.
#include "toolkit/engine/cpu/softmax_kernels.h"

#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

#include <algorithm>

namespace musa_standin::engine::cpu {
namespace {

constexpr int64_t kGrain = 8192; // elements that are worth a thread's start

SoftmaxJob make_job(SoftmaxMode mode, const View& in, int dim) {
  SoftmaxJob job{};
  job.mode = mode;
  job.dtype = in.dtype;
  job.outer = 1;
  job.inner = 1;
  job.extent = in.dims[dim];
  for (int i = 0; i < dim; ++i)
    job.outer *= in.dims[i];
  for (int i = dim + 1; i < in.rank; ++i)
    job.inner *= in.dims[i];
  return job;
}

void run_job(
    const SoftmaxJob& job,
    void (*kernel)(const SoftmaxJob& job, int64_t begin, int64_t end)) {
  SoftmaxJob local = job;
  local.out = host<void>(job.out);
  local.in = host<void>(job.in);
  local.grad_in = host<void>(job.grad_in);
  const int64_t unit =
      job.extent * (job.inner == 1 ? 1 : std::min(job.inner, kSoftmaxBlock));
  const int64_t grain = std::max<int64_t>(1, kGrain / unit);
  parallel_for(softmax_units(job), grain, [&](int64_t begin, int64_t end) {
    kernel(local, begin, end);
  });
}

} // namespace

void CpuDnn::softmax(
    Stream& stream,
    SoftmaxMode mode,
    const View& out,
    const View& in,
    int dim) {
  SoftmaxJob job = make_job(mode, in, dim);
  job.out = out.address;
  job.in = in.address;
  auto* kernel = MUSA_ISA_PICK(kSoftmaxKernels).forward;
  submit(stream, "Softmax", [job, kernel] { run_job(job, kernel); });
}

void CpuDnn::softmax_backward(
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
  auto* kernel = MUSA_ISA_PICK(kSoftmaxKernels).backward;
  submit(stream, "SoftmaxBackward", [job, kernel] { run_job(job, kernel); });
}

} // namespace musa_standin::engine::cpu
