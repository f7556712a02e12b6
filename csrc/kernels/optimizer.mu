// SPDX-License-Identifier: Apache-2.0
// Kernels of optimizers and of gradient scalers.
#include "csrc/kernels/optimizer.h"

#include "csrc/kernels/lists.h"
#include "csrc/kernels/scalar.h"

#include <math.h> // mcc and nvcc know its functions on the device

namespace torch_fl::kernels {
namespace {

template <class T>
struct Computed {
  using Type = float;
};
template <>
struct Computed<double> {
  using Type = double;
};

__host__ __device__ inline float root(float x) {
  return sqrtf(x);
}
__host__ __device__ inline double root(double x) {
  return sqrt(x);
}

// FlStep with addresses that a kernel may read.
template <class C>
struct Step {
  C learning_rate;
  C weight_decay;
  const void* rate_at;
  const float* grad_scale;
  const float* found_inf;
  bool rate_is_double;
  bool maximize;

  static Step of(const FlStep& s) {
    return {
        static_cast<C>(s.learning_rate),
        static_cast<C>(s.weight_decay),
        reachable<void>(s.rate),
        reachable<float>(s.grad_scale),
        reachable<float>(s.found_inf),
        s.rate_is_double != 0,
        s.maximize != 0};
  }
  __host__ __device__ C rate() const {
    if (rate_at == nullptr) {
      return learning_rate;
    }
    return rate_is_double ? static_cast<C>(*static_cast<const double*>(rate_at))
                          : static_cast<C>(*static_cast<const float*>(rate_at));
  }
  __host__ __device__ bool skipped() const {
    return found_inf != nullptr && *found_inf == 1.0F;
  }
  __host__ __device__ C scale() const {
    return grad_scale != nullptr ? static_cast<C>(*grad_scale) : C(1);
  }
};

// What elements of every step share.
template <class C>
struct Common {
  C rate;
  C scale;
  C sign;
  C decay;
  bool skipped;
  bool scaled;

  __host__ __device__ explicit Common(const Step<C>& s)
      : rate(s.rate()), scale(s.scale()), sign(s.maximize ? C(-1) : C(1)),
        decay(s.weight_decay), skipped(s.skipped()),
        scaled(s.grad_scale != nullptr) {}

  // The gradient as the step sees it, without the weights' decay.
  template <class T>
  __host__ __device__ C gradient(T* grad, int64_t i) const {
    C g = static_cast<C>(grad[i]);
    if (scaled) {
      g /= scale;
      grad[i] = static_cast<T>(g);
    }
    return g * sign;
  }
};

template <class T, bool amsgrad>
struct Adam {
  using C = typename Computed<T>::Type;
  List<T> param;
  List<T> grad;
  List<T> first;
  List<T> second;
  List<T> highest;
  const float* corrections;
  Step<C> step;
  C beta1;
  C beta2;
  C rest1; // 1 - beta1
  C rest2;
  C epsilon;
  bool decoupled;

  struct Row {
    Common<C> common;
    T* param;
    T* grad;
    T* first;
    T* second;
    T* highest;
    C step_size;
    C root2;
  };
  __host__ __device__ Row row(int t) const {
    const Common<C> common(step);
    return {
        common,
        param.at[t],
        grad.at[t],
        first.at[t],
        second.at[t],
        highest.at[t],
        common.rate / static_cast<C>(corrections[2 * t]),
        static_cast<C>(corrections[2 * t + 1])};
  }
  __host__ __device__ void operator()(const Row& r, int64_t i) const {
    if (r.common.skipped) {
      return;
    }
    C p = static_cast<C>(r.param[i]);
    C g = r.common.gradient(r.grad, i);
    if (decoupled) {
      p -= r.common.rate * r.common.decay * p;
    } else {
      g += r.common.decay * p;
    }
    const C m = beta1 * static_cast<C>(r.first[i]) + rest1 * g;
    const C v = beta2 * static_cast<C>(r.second[i]) + rest2 * g * g;
    C of = v;
    if (amsgrad) {
      const C before = static_cast<C>(r.highest[i]);
      of = before > v ? before : v;
      r.highest[i] = static_cast<T>(of);
    }
    p -= r.step_size * m / (root(of) / r.root2 + epsilon);
    r.param[i] = static_cast<T>(p);
    r.first[i] = static_cast<T>(m);
    r.second[i] = static_cast<T>(v);
  }
};

// 1 - beta^step without cancellation: the logarithm was taken in double.
struct Corrections {
  List<const float> steps;
  float* out;
  float log_beta1;
  float log_beta2;

  __host__ __device__ void operator()(int64_t t) const {
    const float step = *steps.at[t];
    out[2 * t] = -expm1f(step * log_beta1);
    out[2 * t + 1] = sqrtf(-expm1f(step * log_beta2));
  }
};

template <class T, bool amsgrad>
musaError_t adam(const FlTensors& lists, const FlAdam& a, musaStream_t stream) {
  using C = typename Computed<T>::Type;
  return for_each_of(
      "fused_adam",
      lists,
      Adam<T, amsgrad>{
          List<T>::of(lists, 0),
          List<T>::of(lists, 1),
          List<T>::of(lists, 2),
          List<T>::of(lists, 3),
          List<T>::of(lists, 4),
          reachable<float>(a.corrections),
          Step<C>::of(a.step),
          static_cast<C>(a.beta1),
          static_cast<C>(a.beta2),
          static_cast<C>(1 - a.beta1),
          static_cast<C>(1 - a.beta2),
          static_cast<C>(a.epsilon),
          a.decoupled != 0},
      stream);
}

template <class T>
musaError_t
adam_of(const FlTensors& lists, const FlAdam& a, musaStream_t stream) {
  return a.amsgrad != 0 ? adam<T, true>(lists, a, stream)
                        : adam<T, false>(lists, a, stream);
}

template <class T, bool momentum>
struct Sgd {
  using C = typename Computed<T>::Type;
  List<T> param;
  List<T> grad;
  List<T> buffer;
  Step<C> step;
  C factor;
  C rest; // 1 - dampening
  bool nesterov;
  bool first;

  struct Row {
    Common<C> common;
    T* param;
    T* grad;
    T* buffer;
  };
  __host__ __device__ Row row(int t) const {
    return {Common<C>(step), param.at[t], grad.at[t], buffer.at[t]};
  }
  __host__ __device__ void operator()(const Row& r, int64_t i) const {
    if (r.common.skipped) {
      return;
    }
    const C p = static_cast<C>(r.param[i]);
    C g = r.common.gradient(r.grad, i) + r.common.decay * p;
    if (momentum) {
      const C b = first ? g : factor * static_cast<C>(r.buffer[i]) + rest * g;
      r.buffer[i] = static_cast<T>(b);
      g = nesterov ? g + factor * b : b;
    }
    r.param[i] = static_cast<T>(p - r.common.rate * g);
  }
};

template <class T, bool momentum>
musaError_t sgd(const FlTensors& lists, const FlSgd& s, musaStream_t stream) {
  using C = typename Computed<T>::Type;
  return for_each_of(
      "fused_sgd",
      lists,
      Sgd<T, momentum>{
          List<T>::of(lists, 0),
          List<T>::of(lists, 1),
          List<T>::of(lists, 2),
          Step<C>::of(s.step),
          static_cast<C>(s.momentum),
          static_cast<C>(1 - s.dampening),
          s.nesterov != 0,
          s.first != 0},
      stream);
}

template <class T>
musaError_t
sgd_of(const FlTensors& lists, const FlSgd& s, musaStream_t stream) {
  return s.momentum != 0 ? sgd<T, true>(lists, s, stream)
                         : sgd<T, false>(lists, s, stream);
}

template <class T>
struct Adagrad {
  using C = typename Computed<T>::Type;
  List<T> param;
  List<T> grad;
  List<T> sum;
  List<const float> steps;
  Step<C> step;
  C rate_decay;
  C epsilon;

  struct Row {
    Common<C> common;
    T* param;
    T* grad;
    T* sum;
    C rate;
  };
  __host__ __device__ Row row(int t) const {
    const Common<C> common(step);
    return {
        common,
        param.at[t],
        grad.at[t],
        sum.at[t],
        common.rate /
            (C(1) + (static_cast<C>(*steps.at[t]) - C(1)) * rate_decay)};
  }
  __host__ __device__ void operator()(const Row& r, int64_t i) const {
    if (r.common.skipped) {
      return;
    }
    const C p = static_cast<C>(r.param[i]);
    const C g = r.common.gradient(r.grad, i) + r.common.decay * p;
    const C s = static_cast<C>(r.sum[i]) + g * g;
    r.sum[i] = static_cast<T>(s);
    r.param[i] = static_cast<T>(p - r.rate * g / (root(s) + epsilon));
  }
};

template <class T>
musaError_t
adagrad(const FlTensors& lists, const FlAdagrad& a, musaStream_t stream) {
  using C = typename Computed<T>::Type;
  return for_each_of(
      "fused_adagrad",
      lists,
      Adagrad<T>{
          List<T>::of(lists, 0),
          List<T>::of(lists, 1),
          List<T>::of(lists, 2),
          List<const float>::of(lists, 3),
          Step<C>::of(a.step),
          static_cast<C>(a.rate_decay),
          static_cast<C>(a.epsilon)},
      stream);
}

// Many threads may write the same 1.
__host__ __device__ inline void raise_flag(float* flag) {
#if defined(MUSA_PORTABLE_HOST)
  const float one = 1.0F;
  __atomic_store(flag, &one, __ATOMIC_RELAXED);
#else
  *flag = 1.0F;
#endif
}

template <class T>
struct Unscale {
  using C = typename Computed<T>::Type;
  List<T> grad;
  float* found_inf;
  const float* inv_scale;

  struct Row {
    T* grad;
    C factor;
  };
  __host__ __device__ Row row(int t) const {
    return {grad.at[t], static_cast<C>(*inv_scale)};
  }
  __host__ __device__ void operator()(const Row& r, int64_t i) const {
    const C g = static_cast<C>(r.grad[i]);
    if (!(g - g == C(0))) { // infinite or not a number
      raise_flag(found_inf);
    }
    r.grad[i] = static_cast<T>(r.factor == C(1) ? g : g * r.factor);
  }
};

template <class T>
musaError_t unscale(
    const FlTensors& lists,
    float* found_inf,
    const float* inv_scale,
    musaStream_t stream) {
  return for_each_of(
      "amp_unscale",
      lists,
      Unscale<T>{
          List<T>::of(lists, 0),
          reachable<float>(found_inf),
          reachable<float>(inv_scale)},
      stream);
}

struct UpdateScale {
  float* scale;
  int32_t* tracker;
  const float* found_inf;
  float growth;
  float backoff;
  int32_t interval;

  __host__ __device__ void operator()(int64_t /*i*/) const {
    if (*found_inf > 0.0F) {
      *scale *= backoff;
      *tracker = 0;
      return;
    }
    const int32_t successes = *tracker + 1;
    if (successes != interval) {
      *tracker = successes;
      return;
    }
    const float grown = *scale * growth;
    if (grown - grown == 0.0F) {
      *scale = grown;
    }
    *tracker = 0;
  }
};

} // namespace
} // namespace torch_fl::kernels

#define FL_BY_FLOAT_TYPE(type, function, ...)     \
  switch (type) {                                 \
  case kFlHalf:                                   \
    return k::function<k::Half>(__VA_ARGS__);     \
  case kFlBfloat16:                               \
    return k::function<k::Bfloat16>(__VA_ARGS__); \
  case kFlFloat:                                  \
    return k::function<float>(__VA_ARGS__);       \
  case kFlDouble:                                 \
    return k::function<double>(__VA_ARGS__);      \
  default:                                        \
    return musaErrorInvalidValue;                 \
  }

namespace k = torch_fl::kernels;

musaError_t fl_adam(
    FlKernelType type,
    const FlTensors* lists,
    const FlAdam* adam,
    musaStream_t stream){FL_BY_FLOAT_TYPE(type, adam_of, *lists, *adam, stream)}

musaError_t fl_adam_corrections(
    const FlTensors* steps,
    double beta1,
    double beta2,
    float* out,
    musaStream_t stream) {
  return k::for_each(
      "adam_corrections",
      steps->count,
      kFlListTensors,
      k::Corrections{
          k::List<const float>::of(*steps, 0),
          k::reachable<float>(out),
          static_cast<float>(log(beta1)),
          static_cast<float>(log(beta2))},
      stream);
}

musaError_t fl_sgd(
    FlKernelType type,
    const FlTensors* lists,
    const FlSgd* sgd,
    musaStream_t stream){FL_BY_FLOAT_TYPE(type, sgd_of, *lists, *sgd, stream)}

musaError_t fl_adagrad(
    FlKernelType type,
    const FlTensors* lists,
    const FlAdagrad* adagrad,
    musaStream_t stream){
    FL_BY_FLOAT_TYPE(type, adagrad, *lists, *adagrad, stream)}

musaError_t fl_unscale(
    FlKernelType type,
    const FlTensors* lists,
    float* found_inf,
    const float* inv_scale,
    musaStream_t stream){
    FL_BY_FLOAT_TYPE(type, unscale, *lists, found_inf, inv_scale, stream)}

musaError_t fl_update_scale(
    float* scale,
    int32_t* growth_tracker,
    const float* found_inf,
    double growth,
    double backoff,
    int32_t interval,
    musaStream_t stream) {
  return k::for_each(
      "amp_update_scale",
      1,
      1,
      k::UpdateScale{
          k::reachable<float>(scale),
          k::reachable<int32_t>(growth_tracker),
          k::reachable<float>(found_inf),
          static_cast<float>(growth),
          static_cast<float>(backoff),
          interval},
      stream);
}
