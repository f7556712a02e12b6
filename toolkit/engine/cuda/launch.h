// SPDX-License-Identifier: Apache-2.0
// Launches of kernels, and what their grids are made from.
#pragma once

#include "toolkit/engine/cuda/check.h"
#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/stream.h"

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

namespace musa_standin::engine::cuda {

constexpr int kWarp = 32;

// Enqueues the kernel; an empty grid is nothing. Arguments become the types of
// the kernel's parameters. Never waits.
template <class... P, class... A>
void launch(
    engine::Stream& stream,
    void (*kernel)(P...),
    dim3 grid,
    dim3 block,
    size_t shared,
    const A&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "one argument a parameter");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) {
    return;
  }
  const cudaStream_t at = native(stream);
  const auto enqueue = [&](std::decay_t<P>... values) {
    void* pointers[] = {static_cast<void*>(&values)..., nullptr};
    return cudaLaunchKernel(
        reinterpret_cast<const void*>(kernel),
        grid,
        block,
        pointers,
        shared,
        at);
  };
  check(enqueue(static_cast<std::decay_t<P>>(arguments)...));
}

// Asked once.
inline int multiprocessors(int device) {
  return cuda::device(device).multiprocessors();
}

} // namespace musa_standin::engine::cuda
