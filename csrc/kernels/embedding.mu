// SPDX-License-Identifier: Apache-2.0
// Rows of a table, renormed, or joined into bags.
#include "csrc/kernels/embedding.h"

#include "csrc/kernels/arithmetic.h"
#include "csrc/kernels/unit.h"

#include <math.h> // mcc and nvcc know its functions on the device

namespace torch_fl::kernels {
namespace {

constexpr int64_t kGrain = 2048;

__host__ __device__ inline float power(float x, float y) {
  return powf(x, y);
}
__host__ __device__ inline double power(double x, double y) {
  return pow(x, y);
}

// f(T()) with a floating type.
template <class F>
musaError_t with_float(FlKernelType type, const F& f) {
  switch (type) {
  case kFlHalf:
    return f(Half());
  case kFlBfloat16:
    return f(Bfloat16());
  case kFlFloat:
    return f(float());
  case kFlDouble:
    return f(double());
  default:
    return musaErrorInvalidValue;
  }
}

// Only the first of equal keys has its row.
__host__ __device__ inline bool is_first(const SortedKeys& keys, int64_t p) {
  return p == 0 || keys.at(p - 1) != keys.at(p);
}

template <class T>
struct RenormScale {
  using A = typename Accumulated<T>::Type;

  SortedKeys keys;
  const T* target;
  A* scale;
  int64_t columns;
  int64_t stride;
  A max_norm;
  A norm_type;
  bool infinite;

  __host__ __device__ void operator()(int64_t p) const {
    scale[p] = 1;
    if (!is_first(keys, p)) {
      return;
    }
    const T* row = target + keys.at(p);
    A norm = 0;
    for (int64_t c = 0; c < columns; ++c) {
      A x = static_cast<A>(row[c * stride]);
      x = x < 0 ? -x : x;
      if (infinite) {
        norm = x > norm || x != x ? x : norm;
      } else if (norm_type == 2) {
        norm += x * x;
      } else {
        norm += norm_type == 1 ? x : power(x, norm_type);
      }
    }
    if (!infinite && norm_type != 1) {
      norm = power(norm, 1 / norm_type);
    }
    if (norm > max_norm) {
      scale[p] = max_norm / (norm + static_cast<A>(1e-7));
    }
  }
};

template <class T>
struct RenormRows {
  using A = typename Accumulated<T>::Type;

  SortedKeys keys;
  T* target;
  const A* scale;
  int64_t stride;
  Columns columns;

  __host__ __device__ void operator()(int64_t i) const {
    int64_t p = 0;
    int64_t c = 0;
    columns.split(i, p, c);
    const A by = scale[p];
    if (by != 1 && is_first(keys, p)) {
      T& x = target[keys.at(p) + c * stride];
      x = static_cast<T>(static_cast<A>(x) * by);
    }
  }
};

template <class T>
musaError_t renorm(const FlRenorm& v, musaStream_t stream) {
  using A = typename Accumulated<T>::Type;
  constexpr const char* kName = "embedding_renorm_";
  const SortedKeys keys = SortedKeys::of(v.keys, v.keys_wide != 0);
  T* const target = reachable<T>(v.target);
  A* const scale = reachable<A>(v.scale);
  const musaError_t code = for_each(
      kName,
      v.n,
      64,
      RenormScale<T>{
          keys,
          target,
          scale,
          v.columns,
          v.stride,
          static_cast<A>(v.max_norm),
          static_cast<A>(v.norm_type),
          v.norm_type == lowest<double>() * -1},
      stream);
  if (code != musaSuccess) {
    return code;
  }
  const int64_t n = v.n * v.columns;
  return for_each(
      kName,
      n,
      kGrain,
      RenormRows<T>{keys, target, scale, v.stride, Columns::of(v.columns, n)},
      stream);
}

template <class T>
struct Bags {
  using A = typename Accumulated<T>::Type;
  static constexpr int kTile = 64; // columns at once on a host

  const T* table;
  const int64_t* index;
  const int64_t* offsets;
  const T* weight;
  T* out;
  int64_t* bag_of;
  int64_t* size;
  int64_t* rows;
  int64_t table_rows;
  int64_t row_stride;
  int64_t samples;
  int64_t offset_count;
  int64_t padding;
  FlBagMode mode;
  Reporter reporter;
  Columns columns;

  __host__ __device__ void operator()(int64_t i) const {
    int64_t bag = 0;
    int64_t column = 0;
    columns.split(i, bag, column);
    A sums[1];
    int64_t best[1];
    walk<1>(bag, column, 1, sums, best);
  }

  // On a host: rows are read along their columns.
  __forceinline__ void range(int64_t from, int64_t to) const {
    A sums[kTile];
    int64_t best[kTile];
    for (int64_t i = from; i < to;) {
      int64_t bag = 0;
      int64_t column = 0;
      columns.split(i, bag, column);
      int64_t width = columns.count - column;
      width = width < to - i ? width : to - i;
      width = width < kTile ? width : kTile;
      walk<kTile>(bag, column, width, sums, best);
      i += width;
    }
  }

 private:
  template <int N>
  __host__ __device__ void walk(
      int64_t bag,
      int64_t column,
      int64_t width,
      A (&sums)[N],
      int64_t (&best)[N]) const {
    int64_t begin = offsets[bag];
    int64_t end = bag + 1 < offset_count ? offsets[bag + 1] : samples;
    if (begin < 0 || end > samples) {
      reporter.out_of_range();
      begin = end = 0;
    }
    for (int64_t c = 0; c < width; ++c) {
      sums[c] = 0;
      best[c] = -1;
    }
    int64_t count = 0;
    for (int64_t s = begin; s < end; ++s) {
      if (column == 0) {
        bag_of[s] = bag;
      }
      const int64_t row = index[s];
      if (row < 0 || row >= table_rows) {
        reporter.out_of_range();
        continue;
      }
      if (row == padding) {
        continue;
      }
      ++count;
      const T* from = table + row * row_stride + column;
      if (mode == kFlBagMax) {
        for (int64_t c = 0; c < width; ++c) {
          const A x = static_cast<A>(from[c]);
          if (best[c] < 0 || x > sums[c]) {
            sums[c] = x;
            best[c] = row;
          }
        }
      } else if (weight != nullptr) {
        const A by = static_cast<A>(weight[s]);
        for (int64_t c = 0; c < width; ++c) {
          sums[c] += by * static_cast<A>(from[c]);
        }
      } else {
        for (int64_t c = 0; c < width; ++c) {
          sums[c] += static_cast<A>(from[c]);
        }
      }
    }
    if (column == 0) {
      size[bag] = count;
    }
    const int64_t at = bag * columns.count + column;
    for (int64_t c = 0; c < width; ++c) {
      const bool mean = mode == kFlBagMean && count > 0;
      out[at + c] =
          static_cast<T>(mean ? sums[c] / static_cast<A>(count) : sums[c]);
      if (mode == kFlBagMax) {
        rows[at + c] = best[c];
      }
    }
  }
};

template <class T>
musaError_t bags(const FlBags& v, musaStream_t stream) {
  constexpr const char* kName = "_embedding_bag";
  const int64_t n = v.bags * v.columns;
  return for_each(
      kName,
      n,
      256,
      Bags<T>{
          reachable<T>(v.table),
          reachable<int64_t>(v.index),
          reachable<int64_t>(v.offsets),
          reachable<T>(v.weight),
          reachable<T>(v.out),
          reachable<int64_t>(v.bag_of),
          reachable<int64_t>(v.size),
          reachable<int64_t>(v.rows),
          v.table_rows,
          v.row_stride,
          v.samples,
          v.offset_count,
          v.padding,
          v.mode,
          Reporter::of(kName, stream),
          Columns::of(v.columns, n)},
      stream);
}

struct BagKeys {
  int64_t* keys;
  const int64_t* rows;
  int64_t none;
  Columns columns;

  __host__ __device__ void operator()(int64_t i) const {
    int64_t bag = 0;
    int64_t column = 0;
    columns.split(i, bag, column);
    keys[i] = rows[i] < 0 ? none : rows[i] * columns.count + column;
  }
};

template <class T>
struct BagWeights {
  using A = typename Accumulated<T>::Type;

  const T* grad;
  const T* table;
  const int64_t* index;
  const int64_t* bag_of;
  T* out;
  int64_t table_rows;
  int64_t table_stride;
  int64_t columns;
  int64_t padding;
  Reporter reporter;

  __host__ __device__ void operator()(int64_t s) const {
    const int64_t row = index[s];
    A sum = 0;
    if (row < 0 || row >= table_rows) {
      reporter.out_of_range();
    } else if (row != padding) {
      const T* left = grad + bag_of[s] * columns;
      const T* right = table + row * table_stride;
      for (int64_t c = 0; c < columns; ++c) {
        sum += static_cast<A>(left[c]) * static_cast<A>(right[c]);
      }
    }
    out[s] = static_cast<T>(sum);
  }
};

} // namespace
} // namespace torch_fl::kernels

musaError_t
fl_embedding_renorm(FlKernelType type, const FlRenorm* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_float(type, [&](auto tag) {
    return k::renorm<decltype(tag)>(*v, stream);
  });
}

musaError_t fl_bags(FlKernelType type, const FlBags* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_float(type, [&](auto tag) {
    return k::bags<decltype(tag)>(*v, stream);
  });
}

musaError_t fl_bag_keys(
    int64_t* keys,
    const int64_t* rows,
    int64_t bags,
    int64_t columns,
    int64_t none,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  const int64_t n = bags * columns;
  return k::for_each(
      "_embedding_bag_dense_backward",
      n,
      k::kGrain,
      k::BagKeys{
          k::reachable<int64_t>(keys),
          k::reachable<int64_t>(rows),
          none,
          k::Columns::of(columns, n)},
      stream);
}

musaError_t fl_bag_weights_backward(
    FlKernelType type,
    const FlBagWeights* v,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  constexpr const char* kName = "_embedding_bag_per_sample_weights_backward";
  return k::with_float(type, [&](auto tag) {
    using T = decltype(tag);
    return k::for_each(
        kName,
        v->samples,
        64,
        k::BagWeights<T>{
            k::reachable<T>(v->grad),
            k::reachable<T>(v->table),
            k::reachable<int64_t>(v->index),
            k::reachable<int64_t>(v->bag_of),
            k::reachable<T>(v->out),
            v->table_rows,
            v->table_stride,
            v->columns,
            v->padding,
            k::Reporter::of(kName, stream)},
        stream);
  });
}
