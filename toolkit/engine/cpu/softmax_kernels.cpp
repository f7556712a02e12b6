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

template <class T>
void forward_block(const SoftmaxJob& job, int64_t unit) {
  using W = Wide<T>;
  const Block b = block_of(job, unit);
  const T* x = static_cast<const T*>(job.in) + b.first;
  W shift[kSoftmaxBlock];
  W sum[kSoftmaxBlock] = {};
#pragma omp simd
  for (int64_t i = 0; i < b.width; ++i)
    shift[i] = widen(x[i]);
  for (int64_t k = 1; k < job.extent; ++k) {
    const T* line = x + k * job.inner;
#pragma omp simd
    for (int64_t i = 0; i < b.width; ++i) {
      const W v = widen(line[i]);
      shift[i] = v > shift[i] ? v : shift[i];
    }
  }
#pragma omp simd
  for (int64_t i = 0; i < b.width; ++i)
    shift[i] = shift_of<W>(shift[i], job.mode);
  for (int64_t k = 0; k < job.extent; ++k) {
    const T* line = x + k * job.inner;
#pragma omp simd
    for (int64_t i = 0; i < b.width; ++i)
      sum[i] += kernels::exp(widen(line[i]) - shift[i]);
  }
  if (job.mode == SoftmaxMode::kLogSumExp) {
    T* out = static_cast<T*>(job.out) + b.out_first;
    for (int64_t i = 0; i < b.width; ++i)
      out[i] = narrow<T>(shift[i] + kernels::log(sum[i]));
    return;
  }
  const bool logarithm = job.mode == SoftmaxMode::kLogSoftmax;
  for (int64_t i = 0; i < b.width; ++i)
    sum[i] = logarithm ? kernels::log(sum[i]) : W(1) / sum[i];
  for (int64_t k = 0; k < job.extent; ++k) {
    const T* line = x + k * job.inner;
    T* out = static_cast<T*>(job.out) + b.first + k * job.inner;
    if (logarithm) {
#pragma omp simd
      for (int64_t i = 0; i < b.width; ++i)
        out[i] = narrow<T>((widen(line[i]) - shift[i]) - sum[i]);
    } else {
#pragma omp simd
      for (int64_t i = 0; i < b.width; ++i)
        out[i] = narrow<T>(kernels::exp(widen(line[i]) - shift[i]) * sum[i]);
    }
  }
}

template <class T>
void backward_block(const SoftmaxJob& job, int64_t unit) {
  using W = Wide<T>;
  const Block b = block_of(job, unit);
  const bool logarithm = job.mode == SoftmaxMode::kLogSoftmax;
  W sum[kSoftmaxBlock] = {};
  for (int64_t k = 0; k < job.extent; ++k) {
    const int64_t at = b.first + k * job.inner;
    const T* out = static_cast<const T*>(job.out) + at;
    const T* grad = static_cast<const T*>(job.in) + at;
#pragma omp simd
    for (int64_t i = 0; i < b.width; ++i)
      sum[i] += widen(grad[i]) * (logarithm ? W(1) : widen(out[i]));
  }
  for (int64_t k = 0; k < job.extent; ++k) {
    const int64_t at = b.first + k * job.inner;
    const T* out = static_cast<const T*>(job.out) + at;
    const T* grad = static_cast<const T*>(job.in) + at;
    T* grad_in = static_cast<T*>(job.grad_in) + at;
    if (logarithm) {
#pragma omp simd
      for (int64_t i = 0; i < b.width; ++i)
        grad_in[i] =
            narrow<T>(widen(grad[i]) - kernels::exp(widen(out[i])) * sum[i]);
    } else {
#pragma omp simd
      for (int64_t i = 0; i < b.width; ++i)
        grad_in[i] = narrow<T>((widen(grad[i]) - sum[i]) * widen(out[i]));
    }
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
