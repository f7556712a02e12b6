// SPDX-License-Identifier: Apache-2.0
// What the portable toolkit's bin/mcc puts in front of a .mu file: the device
// dialect's words, and how a loop over elements is started on the engine that
// the toolkit was built with (MUSA_PORTABLE_HOST or MUSA_PORTABLE_CUDA).
#pragma once

#include "musa_portable.h"

#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(MUSA_PORTABLE_HOST)

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

namespace musa_portable {

// A kernel's body, once for each instruction set; the functor is inlined into
// each, since its own is a subset.
template <class F>
struct HostLoop {
  static void plain(const void* closure, int64_t begin, int64_t end) {
    run(*static_cast<const F*>(closure), begin, end);
  }
#if defined(__x86_64__)
  __attribute__((target("avx2,fma,bmi2"))) static void
  avx2(const void* closure, int64_t begin, int64_t end) {
    run(*static_cast<const F*>(closure), begin, end);
  }
#endif
  static auto pick() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2")) {
      return &avx2;
    }
#endif
    return &plain;
  }

 private:
  // A functor of many rows goes through them itself.
  template <class G>
  static auto has_range(int)
      -> decltype(std::declval<const G&>().range(0, 0), std::true_type{});
  template <class G>
  static std::false_type has_range(...);

  static __forceinline__ void run(F f, int64_t begin, int64_t end) {
    if constexpr (decltype(has_range<F>(0))::value) {
      f.range(begin, end);
    } else {
      for (int64_t i = begin; i < end; ++i) {
        f(i);
      }
    }
  }
};

// f(i) for i in [0, n), in any order and at once; F is trivially copyable, of
// at most 864 bytes.  `grain`: elements that are not worth a second thread.
// Enqueues on the stream.
template <class F>
musaError_t for_each(
    const char* name,
    int64_t n,
    int64_t grain,
    const F& f,
    musaStream_t stream) {
  static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= 864);
  static void (*const body)(const void*, int64_t, int64_t) =
      HostLoop<F>::pick();
  const musaPortableLoop loop{name, body, &f, sizeof(F), n, grain};
  return musaPortableForEach(&loop, stream);
}

// How a kernel tells an index out of range: the device has an error under that
// name from the next synchronising call on.  The kernel goes on without the
// element; on this engine its task ends.
struct Reporter {
  static Reporter of(const char* /*name*/, musaStream_t /*stream*/) {
    return {};
  }
  void out_of_range() const {
    musaPortableFail(musaErrorAssert, "index out of range");
  }
};

// Kernels get this in place of the address that callers see.
template <class T>
T* reachable(void* pointer) {
  return static_cast<T*>(musaPortableAddress(pointer));
}
template <class T>
const T* reachable(const void* pointer) {
  return static_cast<const T*>(musaPortableAddress(const_cast<void*>(pointer)));
}

} // namespace musa_portable

#elif defined(MUSA_PORTABLE_CUDA)

namespace musa_portable {

template <class F>
__global__ void __launch_bounds__(256) elements(int64_t n, F f) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < n;
       i += step) {
    f(i);
  }
}

// f(i) for i in [0, n), in any order and at once.  Enqueues on the stream.
template <class F>
musaError_t for_each(
    const char* /*name*/,
    int64_t n,
    int64_t /*grain*/,
    const F& f,
    musaStream_t stream) {
  static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= 4000);
  if (n <= 0) {
    return musaSuccess;
  }
  void* native = nullptr;
  const musaError_t code = musaPortableNativeStream(&native, stream);
  if (code != musaSuccess) {
    return code;
  }
  constexpr int64_t kMostBlocks = 1 << 16;
  const int64_t blocks = (n + 255) / 256;
  elements<<<
      static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks),
      256,
      0,
      static_cast<cudaStream_t>(native)>>>(n, f);
  return cudaGetLastError() == cudaSuccess ? musaSuccess
                                           : musaErrorLaunchFailure;
}

// How a kernel tells an index out of range: the device has an error under that
// name from the next synchronising call on.  The kernel goes on without the
// element.
struct Reporter {
  unsigned long long* word;
  unsigned long long error;

  static Reporter of(const char* name, musaStream_t stream) {
    void* word = nullptr;
    if (musaPortableErrorWord(&word, stream) != musaSuccess) {
      word = nullptr; // the launch reports the stream
    }
    return {
        static_cast<unsigned long long*>(word),
        static_cast<unsigned long long>(musaErrorAssert) << 48 |
            reinterpret_cast<uintptr_t>(name)};
  }
  __host__ __device__ void out_of_range() const {
#if defined(__CUDA_ARCH__)
    // The first one counts; thousands of threads may find the same, and look.
    if (*static_cast<volatile unsigned long long*>(word) == 0) {
      atomicCAS(word, 0ULL, error);
    }
#endif
  }
};

template <class T>
T* reachable(void* pointer) {
  return static_cast<T*>(pointer);
}
template <class T>
const T* reachable(const void* pointer) {
  return static_cast<const T*>(pointer);
}

} // namespace musa_portable

#endif
