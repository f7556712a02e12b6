// SPDX-License-Identifier: Apache-2.0
// Pooling; compiled once per instruction set.
#include "toolkit/engine/cpu/pooling_kernels.h"

#include "toolkit/engine/cpu/floating.h"
#include "toolkit/kernels/math.h"
#include "toolkit/kernels/pooling.h"

#include <type_traits>

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
    int64_t* index) { // NOLINT(readability-non-const-parameter): is written
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

// Four outputs side by side. Written out, since which value wins is anybody's
// guess: a branch would be missed every other time.
constexpr int kQuad = 4;

template <class W>
struct QuadOf {
  using Int = std::conditional_t<sizeof(W) == 4, int32_t, int64_t>;
  using Values __attribute__((vector_size(kQuad * sizeof(W)))) = W;
  using Ints __attribute__((vector_size(kQuad * sizeof(W)))) = Int;
};

// Four outputs, by the first position of their windows, which lie inside the
// image and have no dilation.
template <int Size, class T>
void max_quad(
    const T* in,
    int64_t width,
    const int64_t* corner,
    Wide<T>* value,
    int64_t* index) {
  using W = Wide<T>;
  using Quad = QuadOf<W>;
  using Int = typename Quad::Int;
  typename Quad::Values best{};
  typename Quad::Ints offset{};
#pragma GCC unroll 3
  for (int kh = 0; kh < Size; ++kh) {
#pragma GCC unroll 3
    for (int kw = 0; kw < Size; ++kw) {
      const int64_t at = kh * width + kw;
      const typename Quad::Values v = {
          widen(in[corner[0] + at]),
          widen(in[corner[1] + at]),
          widen(in[corner[2] + at]),
          widen(in[corner[3] + at])};
      if (kh == 0 && kw == 0) {
        best = v;
        continue;
      }
      const typename Quad::Ints better = (v > best) | (v != v);
      const typename Quad::Ints here =
          static_cast<Int>(at) - typename Quad::Ints{};
      best = better ? v : best;
      offset = better ? here : offset;
    }
  }
  for (int i = 0; i < kQuad; ++i) {
    value[i] = best[i];
    index[i] = corner[i] + offset[i];
  }
}

// Outputs of rows [top, bottom) and columns [left, right): their windows lie
// inside the image.
struct Inside {
  int64_t top;
  int64_t bottom;
  int64_t left;
  int64_t right;
};

template <int Size, class T>
void max_inside(
    const Pool<T>& p,
    const T* in,
    const Inside& r,
    T* out,
    int64_t* index) {
  const int64_t total = (r.bottom - r.top) * (r.right - r.left);
  int64_t oh = r.top;
  int64_t ow = r.left;
  for (int64_t done = 0; done < total; done += kQuad) {
    const auto lanes = static_cast<int>(smaller(kQuad, total - done));
    int64_t corner[kQuad];
    int64_t to[kQuad];
    for (int i = 0; i < kQuad; ++i) {
      to[i] = oh * p.width.out + ow;
      corner[i] = (oh * p.height.stride - p.height.pad) * p.width.in +
          ow * p.width.stride - p.width.pad;
      // Lanes beyond the last output repeat it.
      if (i + 1 < lanes && ++ow == r.right) {
        ow = r.left;
        ++oh;
      }
    }
    if (++ow == r.right) {
      ow = r.left;
      ++oh;
    }
    Wide<T> value[kQuad];
    int64_t at[kQuad];
    max_quad<Size>(in, p.width.in, corner, value, at);
    for (int i = 0; i < lanes; ++i) {
      out[to[i]] = narrow<T>(value[i]);
      if (index != nullptr)
        index[to[i]] = at[i];
    }
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
  Inside inside{p.height.out, p.height.out, p.width.out, p.width.out};
  if (size != 0) {
    kernels::pool_interior(p.height, inside.top, inside.bottom);
    kernels::pool_interior(p.width, inside.left, inside.right);
    size == 2 ? max_inside<2>(p, in, inside, out, index)
              : max_inside<3>(p, in, inside, out, index);
  }
  const int64_t row_elements = p.width.out * p.depth;
  for (int64_t oh = 0; oh < p.height.out; ++oh) {
    const PoolWindow rows = pool_window(p.height, oh);
    const bool done = oh >= inside.top && oh < inside.bottom;
    T* to = out + oh * row_elements;
    int64_t* at = index != nullptr ? index + oh * row_elements : nullptr;
    for (int64_t ow = 0; ow < p.width.out; ++ow) {
      if (done && ow == inside.left && inside.left < inside.right)
        ow = inside.right;
      if (ow < p.width.out)
        max_at(p, in, rows, ow, to, at);
    }
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
