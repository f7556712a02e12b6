// SPDX-License-Identifier: Apache-2.0
// Cumulative sums and products. The order of additions depends on sizes alone.
#include "toolkit/engine/cuda/cum_kernels.h"

#include "toolkit/engine/cuda/join.cuh"
#include "toolkit/engine/cuda/pack.h"

#include "toolkit/kernels/arithmetic.h"

#include <type_traits>

namespace musa_standin::engine::cuda {
namespace {

constexpr int kPacks = 4; // of a thread at a time
constexpr int kCumWarps = kCumThreads / kWarp;

template <class E>
using Sum = std::conditional_t<
    std::is_integral_v<E>,
    int64_t,
    std::conditional_t<std::is_same_v<E, double>, double, float>>;

template <class A>
struct Plus {
  static __device__ A none() { return A(0); }
  static __device__ A of(A a, A b) { return kernels::plus(a, b); }
};
template <class A>
struct Times {
  static __device__ A none() { return A(1); }
  static __device__ A of(A a, A b) { return kernels::times(a, b); }
};

template <class E>
__device__ inline Sum<E> to_sum(E e) {
  if constexpr (std::is_same_v<Sum<E>, float>) {
    return wide_of(e);
  } else {
    return static_cast<Sum<E>>(e);
  }
}
template <class E>
__device__ inline E from_sum(Sum<E> s) {
  if constexpr (std::is_same_v<Sum<E>, float>) {
    return narrow_of<E>(s);
  } else {
    return static_cast<E>(s);
  }
}

// A warp's kPacks * kWarp packs of V elements; pack k of lane i is pack
// k * kWarp + i. Then the inclusive scan of them.
template <class E, class Op, int V>
struct Segment {
  using A = Sum<E>;
  static constexpr int kElements = kPacks * kWarp * V;
  A value[kPacks][V];

  // n: elements that there are from `from` on, at most kElements of use.
  __device__ void load(const E* from, int64_t n) {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int at = (k * kWarp + lane) * V;
      if (at + V <= n) {
        const Pack<E, V> pack = load_pack<V>(from + at);
#pragma unroll
        for (int i = 0; i < V; ++i)
          value[k][i] = to_sum(pack.e[i]);
      } else {
#pragma unroll
        for (int i = 0; i < V; ++i)
          value[k][i] = at + i < n ? to_sum(from[at + i]) : Op::none();
      }
    }
  }

  // Returns the sum of all.
  __device__ A scan() {
    const int lane = threadIdx.x % kWarp;
    A before = Op::none();
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
#pragma unroll
      for (int i = 1; i < V; ++i)
        value[k][i] = Op::of(value[k][i - 1], value[k][i]);
      A up_to = value[k][V - 1];
#pragma unroll
      for (int step = 1; step < kWarp; step *= 2) {
        const A other = __shfl_up_sync(0xFFFFFFFFU, up_to, step);
        up_to = lane >= step ? Op::of(other, up_to) : up_to;
      }
      A left = __shfl_up_sync(0xFFFFFFFFU, up_to, 1);
      left = lane == 0 ? before : Op::of(before, left);
#pragma unroll
      for (int i = 0; i < V; ++i)
        value[k][i] = Op::of(left, value[k][i]);
      before = Op::of(before, __shfl_sync(0xFFFFFFFFU, up_to, kWarp - 1));
    }
    return before;
  }

  __device__ void store(E* to, int64_t n, A before) const {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int at = (k * kWarp + lane) * V;
      Pack<E, V> pack;
#pragma unroll
      for (int i = 0; i < V; ++i)
        pack.e[i] = from_sum<E>(Op::of(before, value[k][i]));
      if (at + V <= n) {
        *reinterpret_cast<Pack<E, V>*>(to + at) = pack;
      } else {
#pragma unroll
        for (int i = 0; i < V; ++i) {
          if (at + i < n)
            to[at + i] = pack.e[i];
        }
      }
    }
  }
};

// From each warp's sum, what comes before it among `parts` warps from `first`
// on, and the sum of those. All threads call it; `sums` is not used by others
// until the next synchronisation.
template <class Op, class A>
__device__ inline A before_warp(A sum, int first, int parts, A* sums, A& all) {
  const int warp = (threadIdx.y * blockDim.x + threadIdx.x) / kWarp;
  if (threadIdx.x % kWarp == 0)
    sums[warp] = sum;
  __syncthreads();
  A before = Op::none();
  all = Op::none();
  for (int i = 0; i < parts; ++i) {
    before = first + i < warp ? Op::of(before, sums[first + i]) : before;
    all = Op::of(all, sums[first + i]);
  }
  return before;
}

template <class E, class Op, int V>
__global__ void __launch_bounds__(kCumThreads) scan_rows(CumJob job) {
  using A = Sum<E>;
  using S = Segment<E, Op, V>;
  __shared__ A sums[2][kCumWarps]; // of this step and the next
  const int64_t row =
      static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const int64_t n = row < job.outer ? job.extent : 0;
  const int parts = static_cast<int>(blockDim.x) / kWarp;
  const int first = static_cast<int>(threadIdx.y) * parts;
  const int at = static_cast<int>(threadIdx.x) / kWarp * S::kElements;
  const E* from = static_cast<const E*>(job.in) + row * job.extent;
  E* to = static_cast<E*>(job.out) + row * job.extent;
  A carry = Op::none();
  int side = 0;
  for (int64_t start = at; start - at < job.extent;
       start += parts * S::kElements) {
    S segment;
    segment.load(from + start, n - start);
    const A sum = segment.scan();
    A before = Op::none();
    A all = sum;
    if (parts > 1)
      before = before_warp<Op>(sum, first, parts, sums[side], all);
    side ^= 1;
    segment.store(to + start, n - start, Op::of(carry, before));
    carry = Op::of(carry, all);
  }
}

__device__ inline uint32_t look(const uint32_t* at) {
  uint32_t v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
               : "=r"(v)
               : "l"(at)
               : "memory");
  return v;
}
__device__ inline void tell(uint32_t* at, uint32_t v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;"
               :
               : "l"(at), "r"(v)
               : "memory");
}
// Waits until the piece told so much, then reads.
template <class A>
__device__ inline A
wait_for(const uint32_t* told, uint32_t what, const A* value) {
  while (look(told) < what) {
  }
  return __ldcg(value);
}

constexpr uint32_t kTotal = 1; // of the piece alone
constexpr uint32_t kUpTo = 2;  // of all up to and with it

// The sum of all pieces of the row before this one: those of its group of
// kCumThreads, one by a thread, and what the group before told.
template <class Op, class A>
__device__ inline A
before_piece(const CumJob& job, int64_t piece, A* warps, A* shared) {
  const int64_t row = piece / job.pieces * job.pieces;
  const int64_t in_row = piece - row;
  const int in_group = static_cast<int>(in_row % kCumThreads);
  const int64_t group = piece - in_group;
  const int thread = static_cast<int>(threadIdx.x);
  A mine = Op::none();
  if (thread < in_group)
    mine = wait_for(
        job.told + group + thread,
        kTotal,
        static_cast<const A*>(job.totals) + group + thread);
  if (thread == 0)
    *shared = group == row ? Op::none()
                           : wait_for(
                                 job.told + group - 1,
                                 kUpTo,
                                 static_cast<const A*>(job.sums) + group - 1);
  // Synchronises, so that *shared is there.
  const A all =
      join_row(mine, kCumThreads, warps, [](A a, A b) { return Op::of(a, b); });
  return Op::of(*shared, all);
}

// Blocks take pieces in turn, so that whom one waits for has begun.
template <class E, class Op, int V>
__global__ void __launch_bounds__(kCumThreads) scan_pieces(CumJob job) {
  using A = Sum<E>;
  using S = Segment<E, Op, V>;
  __shared__ A sums[kCumWarps];
  __shared__ A warps[kCumWarps];
  __shared__ A shared;
  __shared__ uint32_t turn;
  if (threadIdx.x == 0)
    turn = atomicAdd(job.turn, 1U);
  __syncthreads();
  const int64_t piece = turn;
  const int64_t row = piece / job.pieces;
  const int64_t in_row = piece - row * job.pieces;
  const int64_t start = in_row * kCumWarps * S::kElements +
      static_cast<int>(threadIdx.x) / kWarp * S::kElements;
  const int64_t n = job.extent - start;
  const int64_t at = row * job.extent + start;
  S segment;
  segment.load(static_cast<const E*>(job.in) + at, n);
  A all;
  const A before = before_warp<Op>(segment.scan(), 0, kCumWarps, sums, all);
  if (threadIdx.x == 0) {
    static_cast<A*>(job.totals)[piece] = all;
    tell(job.told + piece, kTotal);
  }
  const A left = before_piece<Op>(job, piece, warps, &shared);
  if (threadIdx.x == 0 && in_row % kCumThreads == kCumThreads - 1) {
    static_cast<A*>(job.sums)[piece] = Op::of(left, all);
    tell(job.told + piece, kUpTo);
  }
  segment.store(static_cast<E*>(job.out) + at, n, Op::of(left, before));
}

// Sums of floats in double: a line is added up in one sequence.
template <class E, template <class> class Op>
__global__ void __launch_bounds__(kCumThreads) scan_lines(CumJob job) {
  using A = std::conditional_t<std::is_same_v<E, float>, double, Sum<E>>;
  constexpr int kAhead = 8;
  const int64_t line =
      static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (line >= job.outer * job.inner)
    return;
  const int64_t outer = line / job.inner;
  const int64_t first = outer * job.extent * job.inner + line % job.inner;
  const E* from = static_cast<const E*>(job.in) + first;
  E* to = static_cast<E*>(job.out) + first;
  A sum = Op<A>::none();
  int64_t k = 0;
  for (; k + kAhead <= job.extent; k += kAhead) {
    E next[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      next[i] = from[(k + i) * job.inner];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      sum = Op<A>::of(sum, static_cast<A>(to_sum(next[i])));
      to[(k + i) * job.inner] = from_sum<E>(static_cast<Sum<E>>(sum));
    }
  }
  for (; k < job.extent; ++k) {
    sum = Op<A>::of(sum, static_cast<A>(to_sum(from[k * job.inner])));
    to[k * job.inner] = from_sum<E>(static_cast<Sum<E>>(sum));
  }
}

template <class E, template <class> class Op>
CumKernels kernels_with() {
  using O = Op<Sum<E>>;
  constexpr int kV = kPack<E>;
  return {
      scan_rows<E, O, 1>,
      scan_rows<E, O, kV>,
      scan_pieces<E, O, 1>,
      scan_pieces<E, O, kV>,
      scan_lines<E, Op>,
      kV,
      kCumWarps * Segment<E, O, kV>::kElements};
}

template <class E>
CumKernels kernels_of(CumMode mode) {
  return mode == CumMode::kAdd ? kernels_with<E, Plus>()
                               : kernels_with<E, Times>();
}

} // namespace

CumKernels cum_kernels(CumMode mode, Dtype dtype) {
  switch (dtype) {
  case Dtype::kHalf:
    return kernels_of<kernels::Half>(mode);
  case Dtype::kBfloat16:
    return kernels_of<kernels::Bfloat16>(mode);
  case Dtype::kDouble:
    return kernels_of<double>(mode);
  case Dtype::kInt32:
    return kernels_of<int32_t>(mode);
  case Dtype::kInt64:
    return kernels_of<int64_t>(mode);
  case Dtype::kFloat:
    return kernels_of<float>(mode);
  default:
    return {};
  }
}

} // namespace musa_standin::engine::cuda
