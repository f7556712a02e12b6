// SPDX-License-Identifier: Apache-2.0
// Positions of the largest and smallest elements.
#include "toolkit/engine/cuda/reduce_device.cuh"

namespace musa_standin::engine::cuda {
namespace {

// A NaN beats all but a NaN; of equals the first position wins.
template <bool Largest, class C>
struct ArgOp {
  using Compute = C;
  struct State {
    int64_t at; // -1: nothing yet
    C value;
  };

  static __device__ State start(const ReduceJob& /*job*/) { return {-1, C(0)}; }
  static __device__ bool better(C a, C b) {
    const bool behind = Largest ? a <= b : a >= b;
    return !behind && b == b;
  }
  // Positions of a state only grow.
  static __device__ void meet(State& s, C value, int64_t at) {
    if (s.at < 0 || better(value, s.value))
      s = {at, value};
  }
  template <int V>
  static __device__ void
  take(const ReduceJob& /*job*/, State& s, const C (&v)[V], int64_t at) {
    C best = v[0];
    int which = 0;
#pragma unroll
    for (int i = 1; i < V; ++i) {
      const bool wins = better(v[i], best);
      best = wins ? v[i] : best;
      which = wins ? i : which;
    }
    meet(s, best, at + which);
  }
  template <int V>
  static __device__ void
  side(const ReduceJob& /*job*/, State (&s)[V], const C (&v)[V], int64_t at) {
#pragma unroll
    for (int i = 0; i < V; ++i)
      meet(s[i], v[i], at);
  }
  static __device__ State join(const State& a, const State& b) {
    if (a.at < 0 || b.at < 0)
      return a.at < 0 ? b : a;
    if (better(a.value, b.value))
      return a;
    if (better(b.value, a.value))
      return b;
    return a.at < b.at ? a : b;
  }
  static __device__ void
  write(const ReduceJob& job, int64_t output, const State& s) {
    job.indices[output] = s.at;
    if (job.out != nullptr)
      store_result(job, output, s.value);
  }
};

template <class C, class Source>
ReduceKernels of(bool largest) {
  return largest ? reduce_kernels<ArgOp<true, C>, Source>()
                 : reduce_kernels<ArgOp<false, C>, Source>();
}

} // namespace

ReduceKernels arg_kernels(bool largest, FoldType type) {
  switch (type) {
  case FoldType::kFloat:
    return of<float, AnySource>(largest);
  case FoldType::kDouble:
    return of<double, AnySource>(largest);
  default:
    return of<int64_t, AnySource>(largest);
  }
}

ReduceKernels packed_arg_kernels(bool largest, Dtype dtype) {
  switch (dtype) {
  case Dtype::kFloat:
    return of<float, PackedSource<float>>(largest);
  case Dtype::kHalf:
    return of<float, PackedSource<kernels::Half>>(largest);
  case Dtype::kBfloat16:
    return of<float, PackedSource<kernels::Bfloat16>>(largest);
  default:
    return {};
  }
}

} // namespace musa_standin::engine::cuda
