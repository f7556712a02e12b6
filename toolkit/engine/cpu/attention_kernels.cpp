// SPDX-License-Identifier: Apache-2.0
// Attention between its matrix products; compiled once per instruction set.
#include "toolkit/engine/cpu/attention_kernels.h"

#include "toolkit/engine/cpu/floating.h"
#include "toolkit/kernels/math.h"

namespace musa_standin::engine::cpu {
namespace {

using kernels::narrow;
using kernels::widen;

int64_t offset_of(const AttentionRows& rows, int64_t row) {
  const int64_t at = row % rows.dims[2];
  const int64_t matrix = row / rows.dims[2];
  return matrix / rows.dims[1] * rows.strides[0] +
      matrix % rows.dims[1] * rows.strides[1] + at * rows.strides[2];
}

template <class T>
void load_rows(
    const AttentionRows& rows,
    float* to,
    int64_t begin,
    int64_t end) {
  const int64_t width = rows.dims[3];
  const int64_t step = rows.strides[3];
  for (int64_t row = begin; row < end; ++row) {
    const T* from =
        reinterpret_cast<const T*>(rows.address) + offset_of(rows, row);
    float* line = to + row * width;
    if (step == 1) {
#pragma omp simd
      for (int64_t i = 0; i < width; ++i)
        line[i] = widen(from[i]);
    } else {
      for (int64_t i = 0; i < width; ++i)
        line[i] = widen(from[i * step]);
    }
  }
}

template <class T>
void store_rows(
    const AttentionRows& rows,
    const float* from,
    int64_t begin,
    int64_t end) {
  const int64_t width = rows.dims[3];
  const int64_t step = rows.strides[3];
  for (int64_t row = begin; row < end; ++row) {
    T* to = reinterpret_cast<T*>(rows.address) + offset_of(rows, row);
    const float* line = from + (row - begin) * width;
    if (step == 1) {
#pragma omp simd
      for (int64_t i = 0; i < width; ++i)
        to[i] = narrow<T>(line[i]);
    } else {
      for (int64_t i = 0; i < width; ++i)
        to[i * step] = narrow<T>(line[i]);
    }
  }
}

// Half and bfloat16 are all that attention is made of.
void load(const AttentionRows& rows, float* to, int64_t begin, int64_t end) {
  rows.dtype == Dtype::kHalf
      ? load_rows<kernels::Half>(rows, to, begin, end)
      : load_rows<kernels::Bfloat16>(rows, to, begin, end);
}

void store(
    const AttentionRows& rows,
    const float* from,
    int64_t begin,
    int64_t end) {
  rows.dtype == Dtype::kHalf
      ? store_rows<kernels::Half>(rows, from, begin, end)
      : store_rows<kernels::Bfloat16>(rows, from, begin, end);
}

template <class T>
void add_mask(const AttentionBlock& block, const AttentionMask& mask) {
  for (int64_t row = 0; row < block.rows; ++row) {
    const T* from =
        reinterpret_cast<const T*>(mask.address) + row * mask.row_stride;
    float* scores = block.scores + row * block.ld;
    for (int64_t i = 0; i < block.keys; ++i)
      scores[i] += widen(from[i * mask.key_stride]);
  }
}

void hide(const AttentionBlock& block, const AttentionMask& mask) {
  for (int64_t row = 0; row < block.rows; ++row) {
    const char* from = mask.address + row * mask.row_stride;
    float* scores = block.scores + row * block.ld;
    for (int64_t i = 0; i < block.keys; ++i)
      scores[i] =
          from[i * mask.key_stride] != 0 ? scores[i] : -kernels::kInfinity;
  }
}

void apply_mask(const AttentionBlock& block, const AttentionMask& mask) {
  switch (mask.dtype) {
  case Dtype::kBool:
    return hide(block, mask);
  case Dtype::kHalf:
    return add_mask<kernels::Half>(block, mask);
  case Dtype::kBfloat16:
    return add_mask<kernels::Bfloat16>(block, mask);
  default:
    return add_mask<float>(block, mask);
  }
}

float maximum_of(const float* x, int64_t n, float start) {
  float maximum = start;
#pragma omp simd reduction(max : maximum)
  for (int64_t i = 0; i < n; ++i)
    maximum = x[i] > maximum ? x[i] : maximum;
  return maximum;
}

// Of exponentials; a NaN among the scores makes it NaN.
float exponentials(float* x, int64_t n, float shift) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const float e = kernels::exp(x[i] - shift);
    x[i] = e;
    sum += e;
  }
  return sum;
}

void accumulate(
    const AttentionBlock& block,
    float* maxima,
    float* sums,
    float* out,
    int64_t depth) {
  for (int64_t row = 0; row < block.rows; ++row) {
    float* scores = block.scores + row * block.ld;
    const float before = maxima[row];
    const float maximum = maximum_of(scores, block.keys, before);
    // Nothing seen so far: exp(-inf - 0) is the 0 that it should be.
    const float shift = maximum == -kernels::kInfinity ? 0 : maximum;
    const float factor = kernels::exp(before - shift);
    sums[row] = sums[row] * factor + exponentials(scores, block.keys, shift);
    maxima[row] = maximum;
    float* line = out + row * depth;
#pragma omp simd
    for (int64_t i = 0; i < depth; ++i)
      line[i] *= factor;
  }
}

void finish(
    const float* maxima,
    float* sums,
    float* out,
    int64_t rows,
    int64_t depth) {
  for (int64_t row = 0; row < rows; ++row) {
    const float sum = sums[row];
    const float scale = sum == 0 ? 0 : 1 / sum;
    float* line = out + row * depth;
#pragma omp simd
    for (int64_t i = 0; i < depth; ++i)
      line[i] *= scale;
    sums[row] =
        sum == 0 ? -kernels::kInfinity : maxima[row] + kernels::log(sum);
  }
}

void weights(const AttentionBlock& block, const float* log_sums) {
  for (int64_t row = 0; row < block.rows; ++row) {
    float* scores = block.scores + row * block.ld;
    // A row that sees nothing: all scores are -inf.
    const float shift =
        log_sums[row] == -kernels::kInfinity ? 0 : log_sums[row];
#pragma omp simd
    for (int64_t i = 0; i < block.keys; ++i)
      scores[i] = kernels::exp(scores[i] - shift);
  }
}

void gradient(
    const AttentionBlock& gradient,
    const float* weights,
    const float* deltas,
    float scale) {
  for (int64_t row = 0; row < gradient.rows; ++row) {
    float* line = gradient.scores + row * gradient.ld;
    const float* weight = weights + row * gradient.ld;
    const float delta = deltas[row];
#pragma omp simd
    for (int64_t i = 0; i < gradient.keys; ++i)
      line[i] = weight[i] * (line[i] - delta) * scale;
  }
}

void dots(
    const float* a,
    const float* b,
    float* deltas,
    int64_t rows,
    int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i)
      sum += a[row * width + i] * b[row * width + i];
    deltas[row] = sum;
  }
}

} // namespace

const AttentionKernels MUSA_ISA_TABLE(kAttentionKernels) =
    {load, store, apply_mask, accumulate, finish, weights, gradient, dots};

} // namespace musa_standin::engine::cpu
