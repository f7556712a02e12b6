// SPDX-License-Identifier: Apache-2.0
// Layer normalisation; compiled once per instruction set.
#include "toolkit/engine/cpu/layer_norm_kernels.h"

#include "toolkit/engine/cpu/lanes.h"
#include "toolkit/kernels/math.h"

namespace musa_standin::engine::cpu {
namespace {

using kernels::narrow;
using kernels::Wide;
using kernels::widen;

constexpr int64_t kSide = 64; // columns side by side

template <class W>
struct Moments {
  W mean;
  W rstd;
};

// Sums over a row of several's and one's terms (see LaneSums).
template <class W, size_t Terms, class Several, class One>
void row_sums(int64_t n, double (&total)[Terms], Several&& several, One&& one) {
  using Sums = LaneSums<W, Terms>;
  Sums sums;
  for (int64_t at = 0; at < n; at += Sums::kRun) {
    sums.add(
        smaller(Sums::kRun, n - at),
        [&](int64_t i, Vector<W>* v) { several(at + i, v); },
        [&](int64_t i, W* w) { one(at + i, w); });
    sums.take(total);
  }
}

template <class T>
Moments<Wide<T>> moments(const T* x, int64_t n, double epsilon) {
  using W = Wide<T>;
  double total[1] = {0};
  row_sums<W>(
      n,
      total,
      [=](int64_t i, Vector<W>* v) { v[0] = load_lanes(x + i); },
      [=](int64_t i, W* w) { w[0] = widen(x[i]); });
  const W mean = static_cast<W>(total[0] / static_cast<double>(n));
  double squares[1] = {0};
  row_sums<W>(
      n,
      squares,
      [=](int64_t i, Vector<W>* v) {
        const Vector<W> d = load_lanes(x + i) - mean;
        v[0] = d * d;
      },
      [=](int64_t i, W* w) {
        const W d = widen(x[i]) - mean;
        w[0] = d * d;
      });
  const double var = squares[0] / static_cast<double>(n);
  return {mean, static_cast<W>(1.0 / kernels::root_of(var + epsilon))};
}

// Of g = grad * gamma and of g * (x - mean).
template <class T, class G>
void gradient_sums(
    const T* x,
    const T* grad,
    const G* gamma,
    Wide<T> mean,
    int64_t n,
    double (&total)[2]) {
  using W = Wide<T>;
  if (gamma == nullptr) {
    row_sums<W>(
        n,
        total,
        [=](int64_t i, Vector<W>* v) {
          v[0] = load_lanes(grad + i);
          v[1] = v[0] * (load_lanes(x + i) - mean);
        },
        [=](int64_t i, W* w) {
          w[0] = widen(grad[i]);
          w[1] = w[0] * (widen(x[i]) - mean);
        });
    return;
  }
  row_sums<W>(
      n,
      total,
      [=](int64_t i, Vector<W>* v) {
        v[0] = load_lanes(grad + i) * load_lanes(gamma + i);
        v[1] = v[0] * (load_lanes(x + i) - mean);
      },
      [=](int64_t i, W* w) {
        w[0] = widen(grad[i]) * widen(gamma[i]);
        w[1] = w[0] * (widen(x[i]) - mean);
      });
}

template <class T, class G>
void forward_row(const LayerNormJob& job, int64_t row) {
  using W = Wide<T>;
  const int64_t n = job.columns;
  const T* x = static_cast<const T*>(job.in) + row * n;
  T* out = static_cast<T*>(job.out) + row * n;
  const G* gamma = static_cast<const G*>(job.gamma);
  const G* beta = static_cast<const G*>(job.beta);
  const Moments<W> m = moments(x, n, job.epsilon);
  if (job.mean != nullptr)
    static_cast<W*>(job.mean)[row] = m.mean;
  if (job.rstd != nullptr)
    static_cast<W*>(job.rstd)[row] = m.rstd;
  if (gamma == nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      out[i] = narrow<T>((widen(x[i]) - m.mean) * m.rstd);
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const W normal = (widen(x[i]) - m.mean) * m.rstd;
    out[i] = narrow<T>(normal * widen(gamma[i]) + widen(beta[i]));
  }
}

// out = (g - centre - (x - mean) slope) rstd, g = grad or grad * gamma.
template <class W>
struct Gradient {
  W mean;
  W rstd;
  W centre;
  W slope;
};

template <class T>
void apply(
    const Gradient<Wide<T>>& c,
    const T* x,
    const T* grad,
    int64_t n,
    T* out) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    out[i] = narrow<T>(
        (widen(grad[i]) - c.centre - (widen(x[i]) - c.mean) * c.slope) *
        c.rstd);
}

template <class T, class G>
void apply_scaled(
    const Gradient<Wide<T>>& c,
    const T* x,
    const T* grad,
    const G* gamma,
    int64_t n,
    T* out) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const Wide<T> g = widen(grad[i]) * widen(gamma[i]);
    out[i] =
        narrow<T>((g - c.centre - (widen(x[i]) - c.mean) * c.slope) * c.rstd);
  }
}

// With g = grad * gamma and h the normalised input:
// grad_in = rstd (g - mean(g) - h mean(g h)).
template <class T, class G>
void backward_row(const LayerNormJob& job, int64_t row) {
  using W = Wide<T>;
  const int64_t n = job.columns;
  const T* x = static_cast<const T*>(job.in) + row * n;
  const T* grad = static_cast<const T*>(job.grad_out) + row * n;
  const G* gamma = static_cast<const G*>(job.gamma);
  T* out = static_cast<T*>(job.out) + row * n;
  const W mean = static_cast<const W*>(job.mean)[row];
  const W rstd = static_cast<const W*>(job.rstd)[row];
  double total[2] = {0, 0};
  gradient_sums(x, grad, gamma, mean, n, total);
  const double count = static_cast<double>(n);
  const double wide_rstd = static_cast<double>(rstd);
  const W centre = static_cast<W>(total[0] / count);
  const W slope = static_cast<W>(total[1] * wide_rstd * wide_rstd / count);
  const Gradient<W> c{mean, rstd, centre, slope};
  if (gamma != nullptr)
    apply_scaled(c, x, grad, gamma, n, out);
  else
    apply(c, x, grad, n, out);
}

template <class T, class G>
void affine_columns(const LayerNormJob& job, int64_t first, int64_t width) {
  using W = Wide<T>;
  const W* mean = static_cast<const W*>(job.mean);
  const W* rstd = static_cast<const W*>(job.rstd);
  double gamma[kSide] = {};
  double beta[kSide] = {};
  constexpr int64_t kRows = 64;
  for (int64_t row = 0; row < job.rows; row += kRows) {
    W part_gamma[kSide] = {};
    W part_beta[kSide] = {};
    const int64_t last = smaller(row + kRows, job.rows);
    for (int64_t r = row; r < last; ++r) {
      const int64_t at = r * job.columns + first;
      const T* x = static_cast<const T*>(job.in) + at;
      const T* grad = static_cast<const T*>(job.grad_out) + at;
      const W m = mean[r];
      const W s = rstd[r];
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) {
        part_gamma[i] += widen(grad[i]) * ((widen(x[i]) - m) * s);
        part_beta[i] += widen(grad[i]);
      }
    }
    for (int64_t i = 0; i < width; ++i) {
      gamma[i] += static_cast<double>(part_gamma[i]);
      beta[i] += static_cast<double>(part_beta[i]);
    }
  }
  for (int64_t i = 0; i < width; ++i) {
    if (job.grad_gamma != nullptr)
      static_cast<G*>(job.grad_gamma)[first + i] =
          narrow<G>(static_cast<Wide<G>>(gamma[i]));
    if (job.grad_beta != nullptr)
      static_cast<G*>(job.grad_beta)[first + i] =
          narrow<G>(static_cast<Wide<G>>(beta[i]));
  }
}

// f(TypeTag<T>{}, TypeTag<G>{})
template <class F>
void with_types(const LayerNormJob& job, F&& f) {
  with_floating(job.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (job.affine == job.dtype)
      f(tag, tag);
    else
      f(tag, TypeTag<Wide<T>>{});
  });
}

void forward(const LayerNormJob& job, int64_t begin, int64_t end) {
  with_types(job, [&](auto type, auto affine) {
    for (int64_t row = begin; row < end; ++row)
      forward_row<
          typename decltype(type)::Type,
          typename decltype(affine)::Type>(job, row);
  });
}

void backward_input(const LayerNormJob& job, int64_t begin, int64_t end) {
  with_types(job, [&](auto type, auto affine) {
    for (int64_t row = begin; row < end; ++row)
      backward_row<
          typename decltype(type)::Type,
          typename decltype(affine)::Type>(job, row);
  });
}

void backward_affine(const LayerNormJob& job, int64_t begin, int64_t end) {
  with_types(job, [&](auto type, auto affine) {
    for (int64_t first = begin; first < end; first += kSide)
      affine_columns<
          typename decltype(type)::Type,
          typename decltype(affine)::Type>(
          job,
          first,
          smaller(kSide, end - first));
  });
}

} // namespace

const LayerNormKernels MUSA_ISA_TABLE(
    kLayerNormKernels) = {forward, backward_input, backward_affine};

} // namespace musa_standin::engine::cpu
