// SPDX-License-Identifier: Apache-2.0
// Gradients of batch normalisation, added to what is there.
#include "toolkit/engine/cuda/batch_norm_device.cuh"

namespace musa_standin::engine::cuda {
namespace {

// out += scale * (grad - centre) - (x - mean) * slope
template <class T>
struct Backward {
  using Element = T;
  using Wide = kernels::Wide<T>;
  struct State {
    Wide grad;    // sum of grad
    Wide product; // and of grad * (x - mean)
  };
  struct Scale {
    Wide mean;
    Wide scale;
    Wide centre;
    Wide slope;
  };
  template <int V>
  struct Loaded {
    Wide x[V];
    Wide grad[V];
  };

  template <int V>
  static __device__ Loaded<V> load(const BatchNormJob& job, int64_t at) {
    Loaded<V> l;
    load_wide<V>(static_cast<const T*>(job.in) + at, l.x);
    load_wide<V>(static_cast<const T*>(job.grad_out) + at, l.grad);
    return l;
  }
  static __device__ Wide mean(const BatchNormJob& job, int64_t c) {
    return static_cast<const Wide*>(job.save_mean)[c];
  }
  template <int V>
  static __device__ void take(State& s, const Loaded<V>& l, Wide mean) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      s.grad += l.grad[i];
      s.product += l.grad[i] * (l.x[i] - mean);
    }
  }
  template <int V>
  static __device__ void
  side(State (&s)[V], const Loaded<V>& l, const Wide (&means)[V]) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      s[i].grad += l.grad[i];
      s[i].product += l.grad[i] * (l.x[i] - means[i]);
    }
  }
  static __device__ State join(const State& a, const State& b) {
    return {a.grad + b.grad, a.product + b.product};
  }
  static __device__ Scale
  settle(const BatchNormJob& job, int64_t c, const State& s) {
    const double invstd =
        static_cast<double>(static_cast<const Wide*>(job.save_invstd)[c]);
    const double gamma =
        static_cast<double>(value_or<Wide>(job.gamma, c, Wide(1)));
    const double count =
        static_cast<double>(job.extents.batch * job.extents.plane);
    const double grad = static_cast<double>(s.grad);
    const double product = static_cast<double>(s.product);
    const double scale = gamma * invstd;
    add(job.grad_gamma, c, product * invstd);
    add(job.grad_beta, c, grad);
    add(job.grad_mean, c, -scale * grad);
    add(job.grad_var, c, -0.5 * scale * invstd * invstd * product);
    return {
        mean(job, c),
        static_cast<Wide>(scale),
        static_cast<Wide>(grad / count),
        static_cast<Wide>(scale * invstd * invstd * product / count)};
  }
  static __device__ Scale scale_of(const BatchNormJob& job, int64_t c) {
    return static_cast<const Scale*>(job.scales)[c];
  }
  template <int V>
  static __device__ void apply(
      const BatchNormJob& job,
      int64_t at,
      const Loaded<V>& l,
      const Scale (&s)[V]) {
    T* to = static_cast<T*>(job.out) + at;
    Wide out[V];
    load_wide<V>(to, out);
#pragma unroll
    for (int i = 0; i < V; ++i)
      out[i] += (l.grad[i] - s[i].centre) * s[i].scale -
          (l.x[i] - s[i].mean) * s[i].slope;
    store_wide<V>(to, out);
  }

 private:
  static __device__ void add(void* to, int64_t c, double value) {
    if (to != nullptr)
      static_cast<Wide*>(to)[c] += static_cast<Wide>(value);
  }
};

} // namespace

BatchNormKernels batch_norm_backward_kernels(Dtype dtype) {
  switch (dtype) {
  case Dtype::kHalf:
    return batch_norm_kernels<Backward<kernels::Half>>();
  case Dtype::kBfloat16:
    return batch_norm_kernels<Backward<kernels::Bfloat16>>();
  case Dtype::kDouble:
    return batch_norm_kernels<Backward<double>>();
  default:
    return batch_norm_kernels<Backward<float>>();
  }
}

} // namespace musa_standin::engine::cuda
