// SPDX-License-Identifier: Apache-2.0
// Dropout on the CPU engine.
#include "toolkit/engine/cpu/rand_kernels.h"

#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

namespace musa_standin::engine::cpu {
namespace {

constexpr int64_t kGrain = 16384; // elements that are worth a thread's start

void to_host(DropoutJob& job) {
  job.out = host<void>(job.out);
  job.in = host<void>(job.in);
  job.mask = host<uint8_t>(job.mask);
}

DropoutJob make_job(const View& out, const View& in, const View& mask) {
  DropoutJob job{};
  job.dtype = in.dtype;
  job.out = out.address;
  job.in = in.address;
  job.mask = static_cast<uint8_t*>(mask.address);
  return job;
}

} // namespace

void CpuDnn::dropout(Stream& stream, const DropoutArgs& args) {
  DropoutJob job = make_job(args.out, args.in, args.mask);
  job.p = args.p;
  job.scale = args.scale;
  job.seed = args.seed;
  job.position = args.offset;
  const int64_t n = args.in.numel;
  const uint64_t* seed = args.seed_pointer;
  const uint64_t* offset = args.offset_pointer;
  auto* kernel = MUSA_ISA_PICK(kRandKernels).dropout;
  submit(stream, "Dropout", [=] {
    DropoutJob local = job;
    to_host(local);
    if (seed != nullptr)
      local.seed = *host<const uint64_t>(seed);
    if (offset != nullptr)
      local.position += *host<const uint64_t>(offset);
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
      kernel(local, begin, end);
    });
  });
}

void CpuDnn::dropout_backward(
    Stream& stream,
    const View& grad_in,
    const View& grad_out,
    const View& mask,
    double scale) {
  DropoutJob job = make_job(grad_in, grad_out, mask);
  job.scale = scale;
  const int64_t n = grad_in.numel;
  auto* kernel = MUSA_ISA_PICK(kRandKernels).dropout_backward;
  submit(stream, "DropoutBackward", [=] {
    DropoutJob local = job;
    to_host(local);
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
      kernel(local, begin, end);
    });
  });
}

} // namespace musa_standin::engine::cpu
