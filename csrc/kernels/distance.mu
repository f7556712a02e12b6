// SPDX-License-Identifier: Apache-2.0
// Distances between rows by a p-norm, and their gradients.
#include "csrc/kernels/distance.h"

#include "csrc/kernels/launch.h"

#include <math.h> // mcc and nvcc know its functions on the device

namespace torch_fl::kernels {
namespace {

constexpr int64_t kGrain = 4096;

__host__ __device__ inline float magnitude(float x) {
  return fabsf(x);
}
__host__ __device__ inline double magnitude(double x) {
  return fabs(x);
}
__host__ __device__ inline float power(float x, float y) {
  return powf(x, y);
}
__host__ __device__ inline double power(double x, double y) {
  return pow(x, y);
}
__host__ __device__ inline float root(float x) {
  return sqrtf(x);
}
__host__ __device__ inline double root(double x) {
  return sqrt(x);
}
template <class T>
__host__ __device__ T sign(T x) {
  return static_cast<T>((x > 0) - (x < 0));
}

// A norm: add(sum, |difference|), finish(sum), and the gradient by a
// difference.
template <class T>
struct Zero {
  __host__ __device__ T add(T sum, T d) const {
    return d != d ? d : sum + (d == 0 ? T{0} : T{1});
  }
  __host__ __device__ T finish(T sum) const { return sum; }
  __host__ __device__ T slope(T /*d*/, T /*grad*/, T /*distance*/) const {
    return 0;
  }
};
template <class T>
struct One {
  __host__ __device__ T add(T sum, T d) const { return sum + d; }
  __host__ __device__ T finish(T sum) const { return sum; }
  __host__ __device__ T slope(T d, T grad, T /*distance*/) const {
    return grad * sign(d);
  }
};
template <class T>
struct Two {
  __host__ __device__ T add(T sum, T d) const { return sum + d * d; }
  __host__ __device__ T finish(T sum) const { return root(sum); }
  __host__ __device__ T slope(T d, T grad, T distance) const {
    return distance == 0 ? T{0} : grad * d / distance;
  }
};
template <class T>
struct Largest {
  __host__ __device__ T add(T sum, T d) const {
    return d > sum || d != d ? d : sum;
  }
  __host__ __device__ T finish(T sum) const { return sum; }
  __host__ __device__ T slope(T d, T grad, T distance) const {
    return magnitude(d) == distance ? grad * sign(d) : T{0};
  }
};
template <class T>
struct Any {
  T p;
  __host__ __device__ T add(T sum, T d) const { return sum + power(d, p); }
  __host__ __device__ T finish(T sum) const { return power(sum, T{1} / p); }
  __host__ __device__ T slope(T d, T grad, T distance) const {
    if (distance == 0 || (d == 0 && p < T{1})) {
      return 0;
    }
    if (p < T{2}) {
      return sign(d) * power(magnitude(d), p - T{1}) * grad /
          power(distance, p - T{1});
    }
    return d * power(magnitude(d), p - T{2}) * grad / power(distance, p - T{1});
  }
};

template <class T, class N>
__host__ __device__ T
between(const N& norm, const T* a, const T* b, int64_t columns) {
  T sum = 0;
  for (int64_t c = 0; c < columns; ++c) {
    sum = norm.add(sum, magnitude(a[c] - b[c]));
  }
  return norm.finish(sum);
}

template <class T, class N>
struct Forward {
  T* out;
  const T* left;
  const T* right;
  int64_t rows;
  int64_t others;
  int64_t columns;
  N norm;

  __host__ __device__ void operator()(int64_t i) const {
    const int64_t row = i / others; // of all batches
    const int64_t other = row / rows * others + (i - row * others);
    out[i] =
        between(norm, left + row * columns, right + other * columns, columns);
  }
};

template <class T, class N>
struct Backward {
  T* out;
  const T* left;
  const T* right;
  const T* grad;
  const T* distance;
  int64_t rows;
  int64_t others;
  int64_t columns;
  N norm;

  __host__ __device__ void operator()(int64_t i) const {
    const int64_t row = i / columns;
    const int64_t c = i - row * columns;
    const T own = left[i];
    const T* const other = right + row / rows * others * columns + c;
    T sum = 0;
    for (int64_t j = 0; j < others; ++j) {
      sum += norm.slope(
          own - other[j * columns],
          grad[row * others + j],
          distance[row * others + j]);
    }
    out[i] = sum;
  }
};

// Pairs (i, j), i before j, are counted row by row.
__host__ __device__ inline int64_t pairs_before(int64_t i, int64_t n) {
  return i * (2 * n - i - 1) / 2;
}

template <class T, class N>
struct OwnForward {
  T* out;
  const T* rows;
  int64_t n;
  int64_t columns;
  N norm;

  __host__ __device__ void operator()(int64_t pair) const {
    // The last row whose pairs begin at or before this one.
    int64_t low = 0;
    int64_t high = n - 1;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      if (pairs_before(middle, n) <= pair) {
        low = middle;
      } else {
        high = middle;
      }
    }
    const int64_t other = low + 1 + pair - pairs_before(low, n);
    out[pair] =
        between(norm, rows + low * columns, rows + other * columns, columns);
  }
};

template <class T, class N>
struct OwnBackward {
  T* out;
  const T* rows;
  const T* grad;
  const T* distance;
  int64_t n;
  int64_t columns;
  N norm;

  __host__ __device__ void operator()(int64_t i) const {
    const int64_t row = i / columns;
    const int64_t c = i - row * columns;
    const T own = rows[i];
    T sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (j == row) {
        continue;
      }
      const int64_t first = j < row ? j : row;
      const int64_t pair =
          pairs_before(first, n) + (j < row ? row : j) - first - 1;
      sum +=
          norm.slope(own - rows[j * columns + c], grad[pair], distance[pair]);
    }
    out[i] = sum;
  }
};

// f(norm) with the norm of that p.
template <class T, class F>
musaError_t with_norm(double p, const F& f) {
  if (p == 0) {
    return f(Zero<T>{});
  }
  if (p == 1) {
    return f(One<T>{});
  }
  if (p == 2) {
    return f(Two<T>{});
  }
  if (p > 1 && p - p != 0) { // infinite
    return f(Largest<T>{});
  }
  return f(Any<T>{static_cast<T>(p)});
}

template <class F>
musaError_t with_real(FlKernelType type, const F& f) {
  switch (type) {
  case kFlFloat:
    return f(float{});
  case kFlDouble:
    return f(double{});
  default:
    return musaErrorInvalidValue;
  }
}

} // namespace
} // namespace torch_fl::kernels

musaError_t
fl_distances(FlKernelType type, const FlDistances* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_real(type, [&](auto real) {
    using T = decltype(real);
    return k::with_norm<T>(v->p, [&](auto norm) {
      return k::for_each(
          "cdist",
          v->batch * v->rows * v->others,
          k::kGrain / (v->columns + 1) + 1,
          k::Forward<T, decltype(norm)>{
              k::reachable<T>(v->distance),
              k::reachable<T>(v->left),
              k::reachable<T>(v->right),
              v->rows,
              v->others,
              v->columns,
              norm},
          stream);
    });
  });
}

musaError_t fl_distances_backward(
    FlKernelType type,
    const FlDistances* v,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_real(type, [&](auto real) {
    using T = decltype(real);
    return k::with_norm<T>(v->p, [&](auto norm) {
      return k::for_each(
          "cdist_backward",
          v->batch * v->rows * v->columns,
          k::kGrain / (v->others + 1) + 1,
          k::Backward<T, decltype(norm)>{
              k::reachable<T>(v->out),
              k::reachable<T>(v->left),
              k::reachable<T>(v->right),
              k::reachable<T>(v->grad),
              k::reachable<T>(static_cast<const void*>(v->distance)),
              v->rows,
              v->others,
              v->columns,
              norm},
          stream);
    });
  });
}

musaError_t
fl_own_distances(FlKernelType type, const FlDistances* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_real(type, [&](auto real) {
    using T = decltype(real);
    return k::with_norm<T>(v->p, [&](auto norm) {
      return k::for_each(
          "pdist",
          v->rows * (v->rows - 1) / 2,
          k::kGrain / (v->columns + 1) + 1,
          k::OwnForward<T, decltype(norm)>{
              k::reachable<T>(v->distance),
              k::reachable<T>(v->left),
              v->rows,
              v->columns,
              norm},
          stream);
    });
  });
}

musaError_t fl_own_distances_backward(
    FlKernelType type,
    const FlDistances* v,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_real(type, [&](auto real) {
    using T = decltype(real);
    return k::with_norm<T>(v->p, [&](auto norm) {
      return k::for_each(
          "pdist_backward",
          v->rows * v->columns,
          k::kGrain / (v->rows + 1) + 1,
          k::OwnBackward<T, decltype(norm)>{
              k::reachable<T>(v->out),
              k::reachable<T>(v->left),
              k::reachable<T>(v->grad),
              k::reachable<T>(static_cast<const void*>(v->distance)),
              v->rows,
              v->columns,
              norm},
          stream);
    });
  });
}
