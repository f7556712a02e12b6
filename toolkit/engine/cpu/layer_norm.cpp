// SPDX-License-Identifier: Apache-2.0
// Layer normalisation on the CPU engine.
#include "toolkit/engine/cpu/layer_norm_kernels.h"

#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

#include <algorithm>

namespace musa_standin::engine::cpu {
namespace {

constexpr int64_t kGrain = 16384; // elements that are worth a thread's start
constexpr int64_t kSide = 64;     // columns that are summed side by side

void* address(const View& v) {
  return v.present() ? v.address : nullptr;
}

template <class T>
void to_host(T*& pointer) {
  if (pointer != nullptr)
    pointer = host<T>(pointer);
}

void to_host(LayerNormJob& job) {
  to_host(job.out);
  to_host(job.in);
  to_host(job.grad_out);
  to_host(job.mean);
  to_host(job.rstd);
  to_host(job.gamma);
  to_host(job.beta);
  to_host(job.grad_gamma);
  to_host(job.grad_beta);
}

int64_t row_grain(const LayerNormJob& job) {
  return std::max<int64_t>(kGrain / std::max<int64_t>(job.columns, 1), 1);
}

void run_forward(LayerNormJob job, const LayerNormKernels& kernels) {
  to_host(job);
  parallel_for(job.rows, row_grain(job), [&](int64_t begin, int64_t end) {
    kernels.forward(job, begin, end);
  });
}

void run_backward(LayerNormJob job, const LayerNormKernels& kernels) {
  to_host(job);
  if (job.out != nullptr) {
    parallel_for(job.rows, row_grain(job), [&](int64_t begin, int64_t end) {
      kernels.backward_input(job, begin, end);
    });
  }
  if (job.grad_gamma == nullptr && job.grad_beta == nullptr)
    return;
  const int64_t columns = kGrain / std::max<int64_t>(job.rows, 1);
  const int64_t grain =
      (std::max<int64_t>(columns, 1) + kSide - 1) / kSide * kSide;
  parallel_for(job.columns, grain, [&](int64_t begin, int64_t end) {
    kernels.backward_affine(job, begin, end);
  });
}

} // namespace

void CpuDnn::layer_norm(Stream& stream, const LayerNormArgs& args) {
  LayerNormJob job{};
  job.dtype = args.in.dtype;
  job.affine = args.gamma.present() ? args.gamma.dtype : args.in.dtype;
  job.rows = args.rows;
  job.columns = args.columns;
  job.epsilon = args.epsilon;
  job.out = args.out.address;
  job.in = args.in.address;
  job.mean = address(args.mean);
  job.rstd = address(args.rstd);
  job.gamma = address(args.gamma);
  job.beta = address(args.beta);
  const LayerNormKernels* kernels = &MUSA_ISA_PICK(kLayerNormKernels);
  submit(stream, "LayerNorm", [job, kernels] { run_forward(job, *kernels); });
}

void CpuDnn::layer_norm_backward(
    Stream& stream,
    const LayerNormBackwardArgs& args) {
  LayerNormJob job{};
  job.dtype = args.in.dtype;
  job.affine = args.gamma.present() ? args.gamma.dtype
      : args.grad_gamma.present()   ? args.grad_gamma.dtype
                                    : args.in.dtype;
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
  const LayerNormKernels* kernels = &MUSA_ISA_PICK(kLayerNormKernels);
  submit(stream, "LayerNormBackward", [job, kernels] {
    run_backward(job, *kernels);
  });
}

} // namespace musa_standin::engine::cpu
