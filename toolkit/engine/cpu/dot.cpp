// SPDX-License-Identifier: Apache-2.0
// Dot product on the CPU engine.
#include "toolkit/engine/cpu/gemm_kernels.h"

#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/stream.h"

namespace musa_standin::engine::cpu {

void CpuDnn::dot(
    Stream& stream,
    const View& out,
    const View& left,
    const View& right,
    Workspace /*workspace*/) {
  auto* kernel = MUSA_ISA_PICK(kGemmKernels).dot;
  const Dtype dtype = left.dtype;
  const int64_t n = left.numel;
  void* to = out.address;
  const void* l = left.address;
  const void* r = right.address;
  // Bound by memory: one thread.
  submit(stream, "Dot", [=] {
    kernel(dtype, host<void>(to), host<void>(l), host<void>(r), n);
  });
}

} // namespace musa_standin::engine::cpu
