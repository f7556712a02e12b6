// SPDX-License-Identifier: Apache-2.0
// How a .mu file starts a loop over elements: with the vendor's mcc a kernel of
// its own, with the portable toolkit's whatever its engine runs.
#pragma once

#include <musa_runtime.h>

#include <cstdint>

#if defined(MUSA_PORTABLE_HOST) || defined(MUSA_PORTABLE_CUDA)

namespace torch_fl::kernels {
using musa_portable::for_each;
using musa_portable::reachable;
using musa_portable::Reporter;
} // namespace torch_fl::kernels

#else

namespace torch_fl::kernels {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 1 << 16;

template <class F>
__global__ void __launch_bounds__(kThreads) elements(int64_t n, F f) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < n;
       i += step) {
    f(i);
  }
}

// f(i) for i in [0, n), in any order and at once; F is trivially copyable.
// Enqueues on the stream; n <= 0 enqueues nothing. `grain` is for engines that
// run on the host: elements that are not worth a second thread.
template <class F>
musaError_t for_each(
    const char* /*name*/,
    int64_t n,
    int64_t /*grain*/,
    const F& f,
    musaStream_t stream) {
  if (n <= 0) {
    return musaSuccess;
  }
  const int64_t blocks = (n + kThreads - 1) / kThreads;
  elements<<<
      static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks),
      kThreads,
      0,
      stream>>>(n, f);
  return musaGetLastError();
}

// How a kernel tells an index out of range: the next synchronising call
// returns an error. Of the ways mcc is known to have, only a trap ends a kernel
// for sure; it cannot carry the name.
struct Reporter {
  static Reporter of(const char* /*name*/, musaStream_t /*stream*/) {
    return {};
  }
  __host__ __device__ void out_of_range() const {
#if defined(__MUSA_ARCH__)
    __trap();
#endif
  }
};

// What a kernel dereferences in place of an address that callers see.
template <class T>
T* reachable(void* pointer) {
  return static_cast<T*>(pointer);
}
template <class T>
const T* reachable(const void* pointer) {
  return static_cast<const T*>(pointer);
}

} // namespace torch_fl::kernels

#endif
