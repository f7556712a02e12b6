// SPDX-License-Identifier: Apache-2.0
// Variance and standard deviation.
#include "toolkit/engine/cuda/moments.cuh"
#include "toolkit/engine/cuda/reduce_device.cuh"

namespace musa_standin::engine::cuda {
namespace {

template <class C>
struct MomentOp {
  using Compute = C;
  using State = Moments<C>;

  static __device__ State start(const ReduceJob& /*job*/) { return {0, 0, 0}; }
  template <int V>
  static __device__ void
  take(const ReduceJob& /*job*/, State& s, const C (&v)[V], int64_t /*at*/) {
    take_moments(s, v);
  }
  template <int V>
  static __device__ void side(
      const ReduceJob& /*job*/,
      State (&s)[V],
      const C (&v)[V],
      int64_t /*at*/) {
    side_moments(s, v);
  }
  static __device__ State join(const State& a, const State& b) {
    return join_moments(a, b);
  }
  static __device__ void
  write(const ReduceJob& job, int64_t output, const State& s) {
    const double freedom =
        ::fmax(0.0, static_cast<double>(job.reduced) - job.correction);
    const double variance = static_cast<double>(s.squares) / freedom;
    const bool root = job.mode == ReduceMode::kStd;
    store_result(job, output, root ? ::sqrt(variance) : variance);
  }
};

} // namespace

ReduceKernels moment_kernels(FoldType type) {
  switch (type) {
  case FoldType::kFloat:
    return reduce_kernels<MomentOp<float>, AnySource>();
  case FoldType::kDouble:
    return reduce_kernels<MomentOp<double>, AnySource>();
  default:
    return {};
  }
}

ReduceKernels packed_moment_kernels(Dtype dtype) {
  switch (dtype) {
  case Dtype::kFloat:
    return reduce_kernels<MomentOp<float>, PackedSource<float>>();
  case Dtype::kHalf:
    return reduce_kernels<MomentOp<float>, PackedSource<kernels::Half>>();
  case Dtype::kBfloat16:
    return reduce_kernels<MomentOp<float>, PackedSource<kernels::Bfloat16>>();
  default:
    return {};
  }
}

} // namespace musa_standin::engine::cuda
