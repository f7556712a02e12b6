// SPDX-License-Identifier: Apache-2.0
// Pooling; compiled once per instruction set.
#include "toolkit/engine/cpu/pooling_kernels.h"

#include "toolkit/engine/cpu/floating.h"
#include "toolkit/kernels/math.h"
#include "toolkit/kernels/pooling.h"

namespace musa_standin::engine::cpu {
namespace {

using kernels::narrow;
using kernels::pool_window;
using kernels::PoolAxis;
using kernels::PoolWindow;
using kernels::Wide;
using kernels::widen;

PoolAxis axis_of(const PoolExtent& e, bool adaptive) {
  return {
      e.in,
      e.out,
      e.kernel,
      e.pad,
      e.stride,
      adaptive ? 1 : e.dilation,
      adaptive};
}

// What every loop needs of a job.
template <class T>
struct Pool {
  explicit Pool(const PoolJob& job)
      : height(axis_of(job.height, job.adaptive)),
        width(axis_of(job.width, job.adaptive)), depth(job.depth),
        in_plane(height.in * width.in * depth),
        out_plane(height.out * width.out * depth), in(static_cast<T*>(job.in)),
        out(static_cast<T*>(job.out)) {}
  PoolAxis height;
  PoolAxis width;
  int64_t depth;
  int64_t in_plane;
  int64_t out_plane;
  T* in;
  T* out;
};

// A later value wins if it is larger, or not a number.
template <class W>
bool wins(W value, W best) {
  return value > best || kernels::is_nan(value);
}

template <class T>
void max_at(
    const Pool<T>& p,
    const T* in,
    const PoolWindow& rows,
    int64_t ow,
    T* out,
    int64_t* index) {
  const PoolWindow columns = pool_window(p.width, ow);
  for (int64_t c = 0; c < p.depth; ++c) {
    int64_t best_at = rows.begin * p.width.in + columns.begin;
    Wide<T> best = -static_cast<Wide<T>>(kernels::kInfinity);
    for (int64_t h = rows.begin; h < rows.end; h += p.height.dilation) {
      for (int64_t w = columns.begin; w < columns.end; w += p.width.dilation) {
        const int64_t at = h * p.width.in + w;
        const Wide<T> value = widen(in[at * p.depth + c]);
        if (wins(value, best)) {
          best = value;
          best_at = at;
        }
      }
    }
    out[ow * p.depth + c] = narrow<T>(best);
    if (index != nullptr)
      index[ow * p.depth + c] = best_at;
  }
}

// Outputs [first, last) of a row whose windows lie inside, without dilation.
template <int kSize, class T>
void max_row(
    const Pool<T>& p,
    const T* in,
    int64_t top,
    int64_t first,
    int64_t last,
    T* out,
    int64_t* index) {
  using W = Wide<T>;
  const int64_t stride = p.width.stride;
  const int64_t width = p.width.in;
  const T* row = in + top * width - p.width.pad;
  const int32_t base = static_cast<int32_t>(top * width - p.width.pad);
#pragma omp simd
  for (int64_t ow = first; ow < last; ++ow) {
    const T* corner = row + ow * stride;
    W best = widen(corner[0]);
    int32_t offset = 0;
#pragma GCC unroll 3
    for (int kh = 0; kh < kSize; ++kh) {
#pragma GCC unroll 3
      for (int kw = 0; kw < kSize; ++kw) {
        const W value = widen(corner[kh * width + kw]);
        const bool better = wins(value, best);
        best = better ? value : best;
        offset = better ? static_cast<int32_t>(kh * width + kw) : offset;
      }
    }
    out[ow] = narrow<T>(best);
    if (index != nullptr)
      index[ow] = base + static_cast<int32_t>(ow * stride) + offset;
  }
}

// A square window of 2 or 3 in NCHW, or 0 for all others.
template <class T>
int fast_size(const Pool<T>& p) {
  const bool square = p.height.kernel == p.width.kernel && p.depth == 1 &&
      !p.height.adaptive && p.height.dilation == 1 && p.width.dilation == 1 &&
      p.in_plane < (int64_t{1} << 30);
  return square && (p.width.kernel == 2 || p.width.kernel == 3)
      ? static_cast<int>(p.width.kernel)
      : 0;
}

template <class T>
void max_plane(const Pool<T>& p, int64_t plane, int64_t* indices) {
  const T* in = p.in + plane * p.in_plane;
  T* out = p.out + plane * p.out_plane;
  int64_t* index = indices != nullptr ? indices + plane * p.out_plane : nullptr;
  const int size = fast_size(p);
  int64_t first = p.width.out;
  int64_t last = p.width.out;
  if (size != 0)
    kernels::pool_interior(p.width, first, last);
  const int64_t row_elements = p.width.out * p.depth;
  for (int64_t oh = 0; oh < p.height.out; ++oh) {
    const PoolWindow rows = pool_window(p.height, oh);
    const bool inside = size != 0 && rows.end - rows.begin == size;
    const int64_t edge = inside ? first : p.width.out;
    for (int64_t ow = 0; ow < edge; ++ow)
      max_at(p, in, rows, ow, out, index);
    if (inside) {
      size == 2 ? max_row<2>(p, in, rows.begin, first, last, out, index)
                : max_row<3>(p, in, rows.begin, first, last, out, index);
      for (int64_t ow = last; ow < p.width.out; ++ow)
        max_at(p, in, rows, ow, out, index);
    }
    out += row_elements;
    index = index != nullptr ? index + row_elements : nullptr;
  }
}

int64_t divisor_of(
    const PoolJob& job,
    const PoolWindow& rows,
    const PoolWindow& columns) {
  if (job.divisor != 0)
    return job.divisor;
  if (job.count_padding)
    return rows.padded * columns.padded;
  return larger(rows.end - rows.begin, 0) *
      larger(columns.end - columns.begin, 0);
}

template <class T>
void average_plane(const PoolJob& job, const Pool<T>& p, int64_t plane) {
  using W = Wide<T>;
  const T* in = p.in + plane * p.in_plane;
  T* out = p.out + plane * p.out_plane;
  for (int64_t oh = 0; oh < p.height.out; ++oh) {
    const PoolWindow rows = pool_window(p.height, oh);
    for (int64_t ow = 0; ow < p.width.out; ++ow) {
      const PoolWindow columns = pool_window(p.width, ow);
      const int64_t divisor = divisor_of(job, rows, columns);
      for (int64_t c = 0; c < p.depth; ++c) {
        W sum = 0;
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          for (int64_t w = columns.begin; w < columns.end; ++w)
            sum += widen(in[(h * p.width.in + w) * p.depth + c]);
        }
        // A window that holds padding alone gives 0.
        *out++ = narrow<T>(divisor != 0 ? sum / static_cast<W>(divisor) : sum);
      }
    }
  }
}

template <class T>
void clear_plane(const Pool<T>& p, int64_t plane) {
  T* grad = p.in + plane * p.in_plane;
  for (int64_t i = 0; i < p.in_plane; ++i)
    grad[i] = T{};
}

template <class T>
void max_plane_backward(
    const Pool<T>& p,
    int64_t plane,
    const int64_t* indices) {
  clear_plane(p, plane);
  T* grad_in = p.in + plane * p.in_plane;
  const T* grad = p.out + plane * p.out_plane;
  const int64_t* index = indices + plane * p.out_plane;
  const int64_t positions = p.height.in * p.width.in;
  for (int64_t i = 0; i < p.out_plane; ++i) {
    // A foreign index must not write outside the gradient.
    if (static_cast<uint64_t>(index[i]) >= static_cast<uint64_t>(positions))
      continue;
    T& to = grad_in[p.depth == 1 ? index[i] : index[i] * p.depth + i % p.depth];
    to = narrow<T>(widen(to) + widen(grad[i]));
  }
}

template <class T>
void average_plane_backward(
    const PoolJob& job,
    const Pool<T>& p,
    int64_t plane) {
  using W = Wide<T>;
  clear_plane(p, plane);
  T* grad_in = p.in + plane * p.in_plane;
  const T* grad = p.out + plane * p.out_plane;
  for (int64_t oh = 0; oh < p.height.out; ++oh) {
    const PoolWindow rows = pool_window(p.height, oh);
    for (int64_t ow = 0; ow < p.width.out; ++ow) {
      const PoolWindow columns = pool_window(p.width, ow);
      const int64_t divisor = divisor_of(job, rows, columns);
      if (divisor == 0) {
        grad += p.depth;
        continue;
      }
      for (int64_t c = 0; c < p.depth; ++c) {
        const W share = widen(*grad++) / static_cast<W>(divisor);
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          for (int64_t w = columns.begin; w < columns.end; ++w) {
            T& to = grad_in[(h * p.width.in + w) * p.depth + c];
            to = narrow<T>(widen(to) + share);
          }
        }
      }
    }
  }
}

void forward(const PoolJob& job, int64_t begin, int64_t end) {
  with_floating(job.dtype, [&](auto tag) {
    const Pool<typename decltype(tag)::Type> p(job);
    for (int64_t plane = begin; plane < end; ++plane)
      job.maximum ? max_plane(p, plane, job.indices)
                  : average_plane(job, p, plane);
  });
}

void backward(const PoolJob& job, int64_t begin, int64_t end) {
  with_floating(job.dtype, [&](auto tag) {
    const Pool<typename decltype(tag)::Type> p(job);
    for (int64_t plane = begin; plane < end; ++plane)
      job.maximum ? max_plane_backward(p, plane, job.indices)
                  : average_plane_backward(job, p, plane);
  });
}

} // namespace

const PoolingKernels MUSA_ISA_TABLE(kPoolingKernels) = {forward, backward};

} // namespace musa_standin::engine::cpu
