// SPDX-License-Identifier: Apache-2.0
// Folds as operations of the reductions' loops; device code.
#pragma once

#include "toolkit/engine/cuda/reduce_device.cuh"

#include "toolkit/kernels/fold.h"

#include <type_traits>

namespace musa_standin::engine::cuda {

template <class F, class C>
struct FoldOp {
  using Compute = C;
  using State = C;

  static __device__ State start(const ReduceJob& /*job*/) {
    return F::template start<C>();
  }
  template <int V>
  static __device__ void
  take(const ReduceJob& job, State& s, const C (&v)[V], int64_t /*at*/) {
    const C order = static_cast<C>(job.order);
    C part[V];
#pragma unroll
    for (int i = 0; i < V; ++i)
      part[i] = F::of(v[i], order);
#pragma unroll
    for (int half = V / 2; half > 0; half /= 2) {
#pragma unroll
      for (int i = 0; i < half; ++i)
        part[i] = F::template join<C>(part[i], part[i + half]);
    }
    s = F::template join<C>(s, part[0]);
  }
  template <int V>
  static __device__ void
  side(const ReduceJob& job, State (&s)[V], const C (&v)[V], int64_t /*at*/) {
    const C order = static_cast<C>(job.order);
#pragma unroll
    for (int i = 0; i < V; ++i)
      s[i] = F::template join<C>(s[i], F::of(v[i], order));
  }
  static __device__ State join(const State& a, const State& b) {
    return F::template join<C>(a, b);
  }
  static __device__ void
  write(const ReduceJob& job, int64_t output, const State& s) {
    if constexpr (std::is_same_v<C, int64_t>) {
      store_result(job, output, s);
    } else {
      store_result(job, output, finished(job, s));
    }
  }

 private:
  static __device__ double finished(const ReduceJob& job, double s) {
    if constexpr (std::is_same_v<F, kernels::FoldSum>) {
      return job.mode == ReduceMode::kMean
          ? s / static_cast<double>(job.reduced)
          : s;
    } else if constexpr (std::is_same_v<F, kernels::FoldSumSquare>) {
      return job.mode == ReduceMode::kL2Loss ? s / 2 : ::sqrt(s);
    } else if constexpr (std::is_same_v<F, kernels::FoldSumPower>) {
      return ::pow(s, 1.0 / static_cast<double>(job.order));
    } else {
      return s;
    }
  }
};

} // namespace musa_standin::engine::cuda
