// SPDX-License-Identifier: Apache-2.0
// Batch normalisation: statistics and their use.
#include "toolkit/engine/cuda/batch_norm_device.cuh"
#include "toolkit/engine/cuda/moments.cuh"

namespace musa_standin::engine::cuda {
namespace {

// out = in * scale + shift
template <class T>
struct Forward {
  using Element = T;
  using Wide = kernels::Wide<T>;
  using State = Moments<Wide>;
  struct Scale {
    Wide scale;
    Wide shift;
  };
  template <int V>
  struct Loaded {
    Wide x[V];
  };

  template <int V>
  static __device__ Loaded<V> load(const BatchNormJob& job, int64_t at) {
    Loaded<V> l;
    load_wide<V>(static_cast<const T*>(job.in) + at, l.x);
    return l;
  }
  static __device__ Wide mean(const BatchNormJob& /*job*/, int64_t /*c*/) {
    return 0;
  }
  template <int V>
  static __device__ void take(State& s, const Loaded<V>& l, Wide /*mean*/) {
    take_moments(s, l.x);
  }
  template <int V>
  static __device__ void
  side(State (&s)[V], const Loaded<V>& l, const Wide (&)[V]) {
    side_moments(s, l.x);
  }
  static __device__ State join(const State& a, const State& b) {
    return join_moments(a, b);
  }
  static __device__ Scale
  affine(const BatchNormJob& job, int64_t c, Wide mean, Wide invstd) {
    const Wide scale = invstd * value_or<Wide>(job.gamma, c, Wide(1));
    return {scale, value_or<Wide>(job.beta, c, Wide(0)) - mean * scale};
  }
  // The running variance is the sample's.
  static __device__ Scale
  settle(const BatchNormJob& job, int64_t c, const State& s) {
    const double count =
        static_cast<double>(job.extents.batch * job.extents.plane);
    const double squares = static_cast<double>(s.squares);
    const double invstd = 1.0 / ::sqrt(squares / count + job.epsilon);
    if (job.save_mean != nullptr)
      static_cast<Wide*>(job.save_mean)[c] = s.mean;
    if (job.save_invstd != nullptr)
      static_cast<Wide*>(job.save_invstd)[c] = static_cast<Wide>(invstd);
    move(job, job.running_mean, c, static_cast<double>(s.mean));
    move(job, job.running_var, c, squares / (count - 1));
    return affine(job, c, s.mean, static_cast<Wide>(invstd));
  }
  static __device__ Scale scale_of(const BatchNormJob& job, int64_t c) {
    if (job.scales != nullptr)
      return static_cast<const Scale*>(job.scales)[c];
    const Wide var = static_cast<const Wide*>(job.running_var)[c];
    const Wide invstd = Wide(1) / ::sqrt(var + static_cast<Wide>(job.epsilon));
    return affine(
        job,
        c,
        static_cast<const Wide*>(job.running_mean)[c],
        invstd);
  }
  template <int V>
  static __device__ void
  apply(const BatchNormJob& job, int64_t at, Loaded<V> l, const Scale (&s)[V]) {
#pragma unroll
    for (int i = 0; i < V; ++i)
      l.x[i] = l.x[i] * s[i].scale + s[i].shift;
    store_wide<V>(static_cast<T*>(job.out) + at, l.x);
  }

 private:
  static __device__ void
  move(const BatchNormJob& job, void* to, int64_t c, double value) {
    if (to == nullptr)
      return;
    Wide& running = static_cast<Wide*>(to)[c];
    running = static_cast<Wide>(
        (1 - job.momentum) * static_cast<double>(running) +
        job.momentum * value);
  }
};

} // namespace

BatchNormKernels batch_norm_forward_kernels(Dtype dtype) {
  switch (dtype) {
  case Dtype::kHalf:
    return batch_norm_kernels<Forward<kernels::Half>>();
  case Dtype::kBfloat16:
    return batch_norm_kernels<Forward<kernels::Bfloat16>>();
  case Dtype::kDouble:
    return batch_norm_kernels<Forward<double>>();
  default:
    return batch_norm_kernels<Forward<float>>();
  }
}

} // namespace musa_standin::engine::cuda
