// SPDX-License-Identifier: Apache-2.0
// Batch normalisation on the CPU engine.
#include "toolkit/engine/cpu/batch_norm_kernels.h"

#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

#include <algorithm>

namespace musa_standin::engine::cpu {
namespace {

constexpr int64_t kGrain = 16384; // elements that are worth a thread's start
constexpr int64_t kSide = 16;     // channels of one cache line

using Kernel = void (*)(const BatchNormJob& job, int64_t begin, int64_t end);

void* address(const View& v) {
  return v.present() ? v.address : nullptr;
}

template <class T>
void to_host(T*& pointer) {
  if (pointer != nullptr)
    pointer = host<T>(pointer);
}

// Channels last, or each element a channel: rows of channels.
void set_extents(BatchNormJob& job, const View& in, bool per_activation) {
  job.dtype = in.dtype;
  job.batch = in.dims[0];
  job.plane = 1;
  if (per_activation) {
    job.channels = in.numel / std::max<int64_t>(job.batch, 1);
    return;
  }
  const bool last = in.layout == Layout::kNhwc || in.layout == Layout::kNdhwc;
  const int axis = last ? in.rank - 1 : 1;
  job.channels = in.rank > 1 ? in.dims[axis] : 1;
  int64_t positions = 1;
  for (int i = 1; i < in.rank; ++i)
    positions *= i == axis ? 1 : in.dims[i];
  (last ? job.batch : job.plane) *= positions;
}

void run_job(const BatchNormJob& job, Kernel kernel) {
  BatchNormJob local = job;
  to_host(local.out);
  to_host(local.in);
  to_host(local.grad_out);
  to_host(local.running_mean);
  to_host(local.running_var);
  to_host(local.save_mean);
  to_host(local.save_invstd);
  to_host(local.gamma);
  to_host(local.beta);
  to_host(local.grad_gamma);
  to_host(local.grad_beta);
  to_host(local.grad_mean);
  to_host(local.grad_var);
  const int64_t each = std::max<int64_t>(job.batch * job.plane, 1);
  const int64_t unit = job.plane == 1 ? kSide : 1;
  const int64_t grain =
      (std::max<int64_t>(kGrain / each, 1) + unit - 1) / unit * unit;
  parallel_for(job.channels, grain, [&](int64_t begin, int64_t end) {
    kernel(local, begin, end);
  });
}

BatchNormJob make_job(const BatchNormArgs& args) {
  BatchNormJob job{};
  set_extents(job, args.in, args.per_activation);
  job.epsilon = args.epsilon;
  job.momentum = args.momentum;
  job.out = args.out.address;
  job.in = args.in.address;
  job.running_mean = address(args.running_mean);
  job.running_var = address(args.running_var);
  job.save_mean = address(args.save_mean);
  job.save_invstd = address(args.save_invstd);
  job.gamma = address(args.gamma);
  job.beta = address(args.beta);
  return job;
}

} // namespace

void CpuDnn::batch_norm_inference(Stream& stream, const BatchNormArgs& args) {
  const BatchNormJob job = make_job(args);
  const Kernel kernel = MUSA_ISA_PICK(kBatchNormKernels).inference;
  submit(stream, "BatchNorm", [job, kernel] { run_job(job, kernel); });
}

void CpuDnn::batch_norm_training(Stream& stream, const BatchNormArgs& args) {
  const BatchNormJob job = make_job(args);
  const Kernel kernel = MUSA_ISA_PICK(kBatchNormKernels).training;
  submit(stream, "BatchNorm", [job, kernel] { run_job(job, kernel); });
}

void CpuDnn::batch_norm_backward(
    Stream& stream,
    const BatchNormBackwardArgs& args) {
  BatchNormJob job{};
  set_extents(job, args.in, args.per_activation);
  job.epsilon = args.epsilon;
  job.out = address(args.grad_in);
  job.in = args.in.address;
  job.grad_out = args.grad_out.address;
  job.save_mean = args.mean.address;
  job.save_invstd = args.invstd.address;
  job.gamma = address(args.gamma);
  job.grad_gamma = address(args.grad_gamma);
  job.grad_beta = address(args.grad_beta);
  job.grad_mean = address(args.grad_mean);
  job.grad_var = address(args.grad_var);
  const Kernel kernel = MUSA_ISA_PICK(kBatchNormKernels).backward;
  submit(stream, "BatchNormBackward", [job, kernel] { run_job(job, kernel); });
}

} // namespace musa_standin::engine::cpu
