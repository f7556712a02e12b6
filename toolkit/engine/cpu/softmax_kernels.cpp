// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm and logsumexp; compiled once per instruction set.
#include "toolkit/engine/cpu/softmax_kernels.h"

#include "toolkit/engine/cpu/floating.h"
#include "toolkit/kernels/math.h"

namespace musa_standin::engine::cpu {
namespace {

using kernels::narrow;
using kernels::Wide;
using kernels::widen;

// What is subtracted before exp: the maximum, or 0 in place of an infinite one
// where that leaves the result defined.
template <class W>
W shift_of(W maximum, SoftmaxMode mode) {
  const bool infinite = maximum == static_cast<W>(kernels::kInfinity) ||
      maximum == -static_cast<W>(kernels::kInfinity);
  return mode == SoftmaxMode::kLogSumExp && infinite ? W(0) : maximum;
}

template <class T>
Wide<T> row_maximum(const T* x, int64_t n) {
  using W = Wide<T>;
  W maximum = widen(x[0]);
#pragma omp simd reduction(max : maximum)
  for (int64_t i = 0; i < n; ++i) {
    const W v = widen(x[i]);
    maximum = v > maximum ? v : maximum;
  }
  return maximum;
}

template <class T>
Wide<T> row_exp_sum(const T* x, int64_t n, Wide<T> shift) {
  Wide<T> sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i)
    sum += kernels::exp(widen(x[i]) - shift);
  return sum;
}

// Exponentials are kept where the output can hold them.
template <class T>
void softmax_row(T* out, const T* x, int64_t n, Wide<T> shift) {
  using W = Wide<T>;
  if constexpr (sizeof(T) == sizeof(W)) {
    W sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) {
      const W e = kernels::exp(x[i] - shift);
      out[i] = e;
      sum += e;
    }
    const W scale = W(1) / sum;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      out[i] *= scale;
  } else {
    const W scale = W(1) / row_exp_sum(x, n, shift);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      out[i] = narrow<T>(kernels::exp(widen(x[i]) - shift) * scale);
  }
}

template <class T>
void forward_row(const SoftmaxJob& job, int64_t row) {
  using W = Wide<T>;
  const int64_t n = job.extent;
  const T* x = static_cast<const T*>(job.in) + row * n;
  const W shift = shift_of<W>(row_maximum(x, n), job.mode);
  if (job.mode == SoftmaxMode::kLogSumExp) {
    static_cast<T*>(job.out)[row] =
        narrow<T>(shift + kernels::log(row_exp_sum(x, n, shift)));
    return;
  }
  T* out = static_cast<T*>(job.out) + row * n;
  if (job.mode == SoftmaxMode::kSoftmax)
    return softmax_row(out, x, n, shift);
  const W log_sum = kernels::log(row_exp_sum(x, n, shift));
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    out[i] = narrow<T>((widen(x[i]) - shift) - log_sum);
}

template <class T>
void backward_row(const SoftmaxJob& job, int64_t row) {
  using W = Wide<T>;
  const int64_t n = job.extent;
  const T* out = static_cast<const T*>(job.out) + row * n;
  const T* grad = static_cast<const T*>(job.in) + row * n;
  T* grad_in = static_cast<T*>(job.grad_in) + row * n;
  W sum = 0;
  if (job.mode == SoftmaxMode::kSoftmax) {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i)
      sum += widen(grad[i]) * widen(out[i]);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      grad_in[i] = narrow<T>((widen(grad[i]) - sum) * widen(out[i]));
    return;
  }
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i)
    sum += widen(grad[i]);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    grad_in[i] = narrow<T>(widen(grad[i]) - kernels::exp(widen(out[i])) * sum);
}

// A block of neighbouring inner positions, each with its own line.
struct Block {
  int64_t first;     // element of the line's start
  int64_t out_first; // the same without the extent
  int64_t width;
};

Block block_of(const SoftmaxJob& job, int64_t unit) {
  const int64_t blocks = (job.inner + kSoftmaxBlock - 1) / kSoftmaxBlock;
  const int64_t outer = unit / blocks;
  const int64_t at = unit % blocks * kSoftmaxBlock;
  return {
      outer * job.extent * job.inner + at,
      outer * job.inner + at,
      smaller(kSoftmaxBlock, job.inner - at)};
}

// What the lines of a block have in common: one number a line.
template <class W>
struct Lines {
  W shift[kSoftmaxBlock];
  W sum[kSoftmaxBlock];
};

template <class T>
void take_maxima(
    const SoftmaxJob& job,
    const Block& b,
    const T* x,
    Wide<T>* shift) {
  for (int64_t i = 0; i < b.width; ++i)
    shift[i] = widen(x[i]);
  for (int64_t k = 1; k < job.extent; ++k) {
    const T* line = x + k * job.inner;
#pragma omp simd
    for (int64_t i = 0; i < b.width; ++i) {
      const Wide<T> v = widen(line[i]);
      shift[i] = v > shift[i] ? v : shift[i];
    }
  }
  for (int64_t i = 0; i < b.width; ++i)
    shift[i] = shift_of<Wide<T>>(shift[i], job.mode);
}

template <class T>
void add_exponentials(const T* x, int64_t n, Lines<Wide<T>>& lines) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    lines.sum[i] += kernels::exp(widen(x[i]) - lines.shift[i]);
}

// sum holds the logarithm of the sum of exponentials.
template <class T>
void write_logarithms(
    const T* x,
    int64_t n,
    const Lines<Wide<T>>& lines,
    T* out) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    out[i] = narrow<T>((widen(x[i]) - lines.shift[i]) - lines.sum[i]);
}

// sum holds the reciprocal of the sum of exponentials.
template <class T>
void write_shares(const T* x, int64_t n, const Lines<Wide<T>>& lines, T* out) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    out[i] =
        narrow<T>(kernels::exp(widen(x[i]) - lines.shift[i]) * lines.sum[i]);
}

template <class T>
void forward_block(const SoftmaxJob& job, int64_t unit) {
  using W = Wide<T>;
  const Block b = block_of(job, unit);
  const T* x = static_cast<const T*>(job.in) + b.first;
  Lines<W> lines{};
  take_maxima(job, b, x, lines.shift);
  for (int64_t k = 0; k < job.extent; ++k)
    add_exponentials(x + k * job.inner, b.width, lines);
  const bool shares = job.mode == SoftmaxMode::kSoftmax;
  for (int64_t i = 0; i < b.width; ++i)
    lines.sum[i] = shares ? W(1) / lines.sum[i] : kernels::log(lines.sum[i]);
  if (job.mode == SoftmaxMode::kLogSumExp) {
    T* out = static_cast<T*>(job.out) + b.out_first;
    for (int64_t i = 0; i < b.width; ++i)
      out[i] = narrow<T>(lines.shift[i] + lines.sum[i]);
    return;
  }
  T* out = static_cast<T*>(job.out) + b.first;
  for (int64_t k = 0; k < job.extent; ++k) {
    const int64_t at = k * job.inner;
    shares ? write_shares(x + at, b.width, lines, out + at)
           : write_logarithms(x + at, b.width, lines, out + at);
  }
}

template <class T>
void logarithm_gradient(
    const T* out,
    const T* grad,
    const Wide<T>* sum,
    int64_t n,
    T* grad_in) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    grad_in[i] =
        narrow<T>(widen(grad[i]) - kernels::exp(widen(out[i])) * sum[i]);
}

template <class T>
void share_gradient(
    const T* out,
    const T* grad,
    const Wide<T>* sum,
    int64_t n,
    T* grad_in) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    grad_in[i] = narrow<T>((widen(grad[i]) - sum[i]) * widen(out[i]));
}

template <class T>
void backward_block(const SoftmaxJob& job, int64_t unit) {
  using W = Wide<T>;
  const Block b = block_of(job, unit);
  const bool logarithm = job.mode == SoftmaxMode::kLogSoftmax;
  const T* out = static_cast<const T*>(job.out) + b.first;
  const T* grad = static_cast<const T*>(job.in) + b.first;
  T* grad_in = static_cast<T*>(job.grad_in) + b.first;
  W sum[kSoftmaxBlock] = {};
  for (int64_t k = 0; k < job.extent; ++k) {
    const T* o = out + k * job.inner;
    const T* g = grad + k * job.inner;
#pragma omp simd
    for (int64_t i = 0; i < b.width; ++i)
      sum[i] += widen(g[i]) * (logarithm ? W(1) : widen(o[i]));
  }
  for (int64_t k = 0; k < job.extent; ++k) {
    const int64_t at = k * job.inner;
    logarithm
        ? logarithm_gradient(out + at, grad + at, sum, b.width, grad_in + at)
        : share_gradient(out + at, grad + at, sum, b.width, grad_in + at);
  }
}

void forward(const SoftmaxJob& job, int64_t begin, int64_t end) {
  with_floating(job.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (int64_t unit = begin; unit < end; ++unit)
      job.inner == 1 ? forward_row<T>(job, unit) : forward_block<T>(job, unit);
  });
}

void backward(const SoftmaxJob& job, int64_t begin, int64_t end) {
  with_floating(job.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (int64_t unit = begin; unit < end; ++unit)
      job.inner == 1 ? backward_row<T>(job, unit)
                     : backward_block<T>(job, unit);
  });
}

} // namespace

const SoftmaxKernels MUSA_ISA_TABLE(kSoftmaxKernels) = {forward, backward};

} // namespace musa_standin::engine::cpu
