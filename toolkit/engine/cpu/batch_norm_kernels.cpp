// SPDX-License-Identifier: Apache-2.0
// Batch normalisation; compiled once per instruction set.
#include "toolkit/engine/cpu/batch_norm_kernels.h"

#include "toolkit/engine/cpu/lanes.h"
#include "toolkit/kernels/math.h"

namespace musa_standin::engine::cpu {
namespace {

using kernels::narrow;
using kernels::Wide;
using kernels::widen;

// Channels that are worked on side by side where a plane is one element.
constexpr int64_t kSide = 64;

template <class W>
const W* stats(const void* p) {
  return static_cast<const W*>(p);
}
template <class W>
W* stats(void* p) {
  return static_cast<W*>(p);
}

template <class W>
W value_or(const void* p, int64_t i, W otherwise) {
  return p != nullptr ? stats<W>(p)[i] : otherwise;
}

template <class W>
void add_to(void* p, int64_t i, double value) {
  if (p != nullptr)
    stats<W>(p)[i] += static_cast<W>(value);
}

// f(offset) for the planes of a channel, in which its elements are neighbours.
template <class F>
inline void for_planes(const BatchNormJob& job, int64_t c, F&& f) {
  for (int64_t b = 0; b < job.batch; ++b)
    f((b * job.channels + c) * job.plane);
}

// Sums over a channel of several's and one's terms (see LaneSums).
template <class W, size_t Terms, class Several, class One>
void channel_sums(
    const BatchNormJob& job,
    int64_t c,
    double (&total)[Terms],
    Several&& several,
    One&& one) {
  using Sums = LaneSums<W, Terms>;
  Sums sums;
  for_planes(job, c, [&](int64_t first) {
    for (int64_t from = 0; from < job.plane; from += Sums::kRun) {
      const int64_t at = first + from;
      sums.add(
          smaller(Sums::kRun, job.plane - from),
          [&](int64_t i, Vector<W>* v) { several(at + i, v); },
          [&](int64_t i, W* w) { one(at + i, w); });
      if (sums.full())
        sums.take(total);
    }
  });
  sums.take(total);
}

template <class T>
double channel_sum(const BatchNormJob& job, int64_t c) {
  using W = Wide<T>;
  const T* x = static_cast<const T*>(job.in);
  double total[1] = {0};
  channel_sums<W>(
      job,
      c,
      total,
      [=](int64_t i, Vector<W>* v) { v[0] = load_lanes(x + i); },
      [=](int64_t i, W* w) { w[0] = widen(x[i]); });
  return total[0];
}

template <class T>
double channel_squares(const BatchNormJob& job, int64_t c, Wide<T> mean) {
  using W = Wide<T>;
  const T* x = static_cast<const T*>(job.in);
  double total[1] = {0};
  channel_sums<W>(
      job,
      c,
      total,
      [=](int64_t i, Vector<W>* v) {
        const Vector<W> d = load_lanes(x + i) - mean;
        v[0] = d * d;
      },
      [=](int64_t i, W* w) {
        const W d = widen(x[i]) - mean;
        w[0] = d * d;
      });
  return total[0];
}

// Keeps what the backward pass needs and moves the running statistics; the
// running variance is the sample's. Returns 1 / sqrt(var + epsilon).
template <class W>
W settle(const BatchNormJob& job, int64_t c, double mean, double squares) {
  const double count = static_cast<double>(job.batch * job.plane);
  const double invstd = 1.0 / kernels::root_of(squares / count + job.epsilon);
  if (job.save_mean != nullptr)
    stats<W>(job.save_mean)[c] = static_cast<W>(mean);
  if (job.save_invstd != nullptr)
    stats<W>(job.save_invstd)[c] = static_cast<W>(invstd);
  const double m = job.momentum;
  if (job.running_mean != nullptr) {
    W& value = stats<W>(job.running_mean)[c];
    value = static_cast<W>((1 - m) * static_cast<double>(value) + m * mean);
  }
  if (job.running_var != nullptr) {
    W& value = stats<W>(job.running_var)[c];
    const double var = squares / (count - 1);
    value = static_cast<W>((1 - m) * static_cast<double>(value) + m * var);
  }
  return static_cast<W>(invstd);
}

// out = in * scale + shift
template <class W>
struct Affine {
  W scale;
  W shift;
};

template <class W>
Affine<W> affine(const BatchNormJob& job, int64_t c, W mean, W invstd) {
  const W scale = invstd * value_or<W>(job.gamma, c, W(1));
  return {scale, value_or<W>(job.beta, c, W(0)) - mean * scale};
}

template <class T>
void apply(const BatchNormJob& job, int64_t c, Affine<Wide<T>> a) {
  const int64_t n = job.plane;
  for_planes(job, c, [&](int64_t at) {
    const T* x = static_cast<const T*>(job.in) + at;
    T* out = static_cast<T*>(job.out) + at;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      out[i] = narrow<T>(widen(x[i]) * a.scale + a.shift);
  });
}

template <class W>
Affine<W> running_affine(const BatchNormJob& job, int64_t c) {
  const W var = stats<W>(job.running_var)[c];
  const W invstd = W(1) / kernels::root_of(var + static_cast<W>(job.epsilon));
  return affine<W>(job, c, stats<W>(job.running_mean)[c], invstd);
}

// --- a plane of one element: rows of channels -------------------------------

// f(first, width) for blocks of neighbouring channels.
template <class F>
inline void for_sides(int64_t begin, int64_t end, F&& f) {
  for (int64_t c = begin; c < end; c += kSide)
    f(c, smaller(kSide, end - c));
}

template <class T>
void apply_rows(
    const BatchNormJob& job,
    int64_t first,
    int64_t width,
    const Affine<Wide<T>>* a) {
  Wide<T> scale[kSide];
  Wide<T> shift[kSide];
  for (int64_t i = 0; i < width; ++i) {
    scale[i] = a[i].scale;
    shift[i] = a[i].shift;
  }
  for (int64_t b = 0; b < job.batch; ++b) {
    const int64_t at = b * job.channels + first;
    const T* x = static_cast<const T*>(job.in) + at;
    T* out = static_cast<T*>(job.out) + at;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i)
      out[i] = narrow<T>(widen(x[i]) * scale[i] + shift[i]);
  }
}

// Sums over the rows of f(row's element offset, i), in runs.
template <class W, class F>
inline void sum_rows(
    const BatchNormJob& job,
    int64_t first,
    int64_t width,
    double* total,
    F&& f) {
  for (int64_t i = 0; i < width; ++i)
    total[i] = 0;
  constexpr int64_t kRows = 64;
  for (int64_t row = 0; row < job.batch; row += kRows) {
    W sum[kSide] = {};
    const int64_t last = smaller(row + kRows, job.batch);
    for (int64_t b = row; b < last; ++b) {
      const int64_t at = b * job.channels + first;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i)
        sum[i] += f(at, i);
    }
    for (int64_t i = 0; i < width; ++i)
      total[i] += static_cast<double>(sum[i]);
  }
}

template <class T>
void training_rows(const BatchNormJob& job, int64_t first, int64_t width) {
  using W = Wide<T>;
  const T* x = static_cast<const T*>(job.in);
  double sum[kSide];
  double squares[kSide];
  W mean[kSide];
  Affine<W> a[kSide];
  sum_rows<W>(job, first, width, sum, [=](int64_t at, int64_t i) {
    return widen(x[at + i]);
  });
  for (int64_t i = 0; i < width; ++i) {
    sum[i] /= static_cast<double>(job.batch);
    mean[i] = static_cast<W>(sum[i]);
  }
  const W* means = mean;
  sum_rows<W>(job, first, width, squares, [=](int64_t at, int64_t i) {
    const W d = widen(x[at + i]) - means[i];
    return d * d;
  });
  for (int64_t i = 0; i < width; ++i) {
    const W invstd = settle<W>(job, first + i, sum[i], squares[i]);
    a[i] = affine<W>(job, first + i, mean[i], invstd);
  }
  apply_rows<T>(job, first, width, a);
}

// --- gradients --------------------------------------------------------------

// grad_in += scale * (grad - centre) - (x - mean) * slope
template <class W>
struct Gradient {
  W mean;
  W scale;
  W centre;
  W slope;
};

// From the sums of grad and of grad * (x - mean).
template <class W>
Gradient<W>
gradient(const BatchNormJob& job, int64_t c, double grad_sum, double product) {
  const W mean = stats<W>(job.save_mean)[c];
  const double invstd = static_cast<double>(stats<W>(job.save_invstd)[c]);
  const double gamma = static_cast<double>(value_or<W>(job.gamma, c, W(1)));
  const double count = static_cast<double>(job.batch * job.plane);
  add_to<W>(job.grad_gamma, c, product * invstd);
  add_to<W>(job.grad_beta, c, grad_sum);
  add_to<W>(job.grad_mean, c, -gamma * invstd * grad_sum);
  add_to<W>(job.grad_var, c, -0.5 * gamma * invstd * invstd * invstd * product);
  const double scale = gamma * invstd;
  return {
      mean,
      static_cast<W>(scale),
      static_cast<W>(grad_sum / count),
      static_cast<W>(scale * invstd * invstd * product / count)};
}

template <class T>
void backward_channel(const BatchNormJob& job, int64_t c) {
  using W = Wide<T>;
  const W mean = stats<W>(job.save_mean)[c];
  const T* x = static_cast<const T*>(job.in);
  const T* grad = static_cast<const T*>(job.grad_out);
  double total[2] = {0, 0}; // of grad, and of grad * (x - mean)
  channel_sums<W>(
      job,
      c,
      total,
      [=](int64_t i, Vector<W>* v) {
        v[0] = load_lanes(grad + i);
        v[1] = v[0] * (load_lanes(x + i) - mean);
      },
      [=](int64_t i, W* w) {
        w[0] = widen(grad[i]);
        w[1] = w[0] * (widen(x[i]) - mean);
      });
  const Gradient<W> g = gradient<W>(job, c, total[0], total[1]);
  if (job.out == nullptr)
    return;
  const int64_t n = job.plane;
  for_planes(job, c, [&](int64_t at) {
    const T* values = x + at;
    const T* grads = grad + at;
    T* out = static_cast<T*>(job.out) + at;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      out[i] = narrow<T>(
          widen(out[i]) + (widen(grads[i]) - g.centre) * g.scale -
          (widen(values[i]) - g.mean) * g.slope);
  });
}

template <class T>
void backward_rows(const BatchNormJob& job, int64_t first, int64_t width) {
  using W = Wide<T>;
  const T* x = static_cast<const T*>(job.in);
  const T* grad = static_cast<const T*>(job.grad_out);
  const W* mean = stats<W>(job.save_mean) + first;
  double grad_sum[kSide];
  double product[kSide];
  sum_rows<W>(job, first, width, grad_sum, [=](int64_t at, int64_t i) {
    return widen(grad[at + i]);
  });
  sum_rows<W>(job, first, width, product, [=](int64_t at, int64_t i) {
    return widen(grad[at + i]) * (widen(x[at + i]) - mean[i]);
  });
  Gradient<W> g[kSide];
  for (int64_t i = 0; i < width; ++i)
    g[i] = gradient<W>(job, first + i, grad_sum[i], product[i]);
  if (job.out == nullptr)
    return;
  for (int64_t b = 0; b < job.batch; ++b) {
    const int64_t at = b * job.channels + first;
    T* out = static_cast<T*>(job.out) + at;
    for (int64_t i = 0; i < width; ++i)
      out[i] = narrow<T>(
          widen(out[i]) + (widen(grad[at + i]) - g[i].centre) * g[i].scale -
          (widen(x[at + i]) - g[i].mean) * g[i].slope);
  }
}

// --- the table --------------------------------------------------------------

void inference(const BatchNormJob& job, int64_t begin, int64_t end) {
  with_floating(job.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using W = Wide<T>;
    if (job.plane > 1) {
      for (int64_t c = begin; c < end; ++c)
        apply<T>(job, c, running_affine<W>(job, c));
      return;
    }
    for_sides(begin, end, [&](int64_t first, int64_t width) {
      Affine<W> a[kSide];
      for (int64_t i = 0; i < width; ++i)
        a[i] = running_affine<W>(job, first + i);
      apply_rows<T>(job, first, width, a);
    });
  });
}

void training(const BatchNormJob& job, int64_t begin, int64_t end) {
  with_floating(job.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using W = Wide<T>;
    if (job.plane == 1) {
      for_sides(begin, end, [&](int64_t first, int64_t width) {
        training_rows<T>(job, first, width);
      });
      return;
    }
    const double count = static_cast<double>(job.batch * job.plane);
    for (int64_t c = begin; c < end; ++c) {
      const double mean = channel_sum<T>(job, c) / count;
      const W rounded = static_cast<W>(mean);
      const double squares = channel_squares<T>(job, c, rounded);
      const W invstd = settle<W>(job, c, mean, squares);
      apply<T>(job, c, affine<W>(job, c, rounded, invstd));
    }
  });
}

void backward(const BatchNormJob& job, int64_t begin, int64_t end) {
  with_floating(job.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (job.plane == 1) {
      for_sides(begin, end, [&](int64_t first, int64_t width) {
        backward_rows<T>(job, first, width);
      });
      return;
    }
    for (int64_t c = begin; c < end; ++c)
      backward_channel<T>(job, c);
  });
}

} // namespace

const BatchNormKernels MUSA_ISA_TABLE(
    kBatchNormKernels) = {inference, training, backward};

} // namespace musa_standin::engine::cpu
