// SPDX-License-Identifier: Apache-2.0
// Pooling on the CPU engine.
#include "toolkit/engine/cpu/pooling_kernels.h"

#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

#include "toolkit/engine/error.h"

#include <algorithm>

namespace musa_standin::engine::cpu {
namespace {

constexpr int64_t kGrain = 8192; // elements that are worth a thread's start

using Kernel = void (*)(const PoolJob& job, int64_t begin, int64_t end);

PoolExtent extent(const PoolingArgs& args, int axis, int64_t in, int64_t out) {
  if (args.mode == PoolingMode::kGlobalAverage)
    return {in, out, in, 0, 1, 1};
  return {
      in,
      out,
      args.kernel[axis],
      args.pad[axis],
      args.stride[axis],
      args.dilation[axis]};
}

// Backward, in and out are the gradients of what they are forward.
PoolJob make_job(const PoolingArgs& args) {
  const View& in = args.in;
  const View& out = args.out;
  if (in.rank != 4)
    throw Error(musaErrorNotSupported, "pooling has two spatial dimensions");
  PoolJob job{};
  job.dtype = in.dtype;
  job.maximum =
      args.mode == PoolingMode::kMax || args.mode == PoolingMode::kAdaptiveMax;
  job.adaptive = args.mode == PoolingMode::kAdaptiveMax ||
      args.mode == PoolingMode::kAdaptiveAverage;
  job.count_padding = args.mode == PoolingMode::kAverageCountPad;
  job.divisor = args.divisor;
  const bool last = in.layout == Layout::kNhwc;
  const int first = last ? 1 : 2;
  job.planes = last ? in.dims[0] : in.dims[0] * in.dims[1];
  job.depth = last ? in.dims[3] : 1;
  job.height = extent(args, 0, in.dims[first], out.dims[first]);
  job.width = extent(args, 1, in.dims[first + 1], out.dims[first + 1]);
  job.in = in.address;
  job.out = out.address;
  job.indices = args.indices.present()
      ? static_cast<int64_t*>(args.indices.address)
      : nullptr;
  return job;
}

void run_job(const PoolJob& job, Kernel kernel) {
  PoolJob local = job;
  local.in = host<void>(job.in);
  local.out = host<void>(job.out);
  if (job.indices != nullptr)
    local.indices = host<int64_t>(job.indices);
  const int64_t plane =
      std::max<int64_t>(job.height.in * job.width.in * job.depth, 1);
  const int64_t grain = std::max<int64_t>(kGrain / plane, 1);
  parallel_for(job.planes, grain, [&](int64_t begin, int64_t end) {
    kernel(local, begin, end);
  });
}

} // namespace

void CpuDnn::pooling(Stream& stream, const PoolingArgs& args) {
  const PoolJob job = make_job(args);
  const Kernel kernel = MUSA_ISA_PICK(kPoolingKernels).forward;
  submit(stream, "Pooling", [job, kernel] { run_job(job, kernel); });
}

void CpuDnn::pooling_backward(Stream& stream, const PoolingArgs& args) {
  const PoolJob job = make_job(args);
  const Kernel kernel = MUSA_ISA_PICK(kPoolingKernels).backward;
  submit(stream, "PoolingBackward", [job, kernel] { run_job(job, kernel); });
}

} // namespace musa_standin::engine::cpu
