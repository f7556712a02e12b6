// SPDX-License-Identifier: Apache-2.0
// Searches in sorted rows.
#include "csrc/kernels/search.h"

#include "csrc/kernels/launch.h"
#include "csrc/kernels/search_values.h"

namespace torch_fl::kernels {
namespace {

constexpr int64_t kGrain = 2048;
constexpr int64_t kChunk = 256;

// Written with "not" as torch does: a NaN among the values goes to the end.
template <class T>
struct Search {
  const T* boundaries;
  const int64_t* sorter;
  const T* values;
  int64_t* wide;
  int32_t* narrow;
  int64_t width;
  int64_t per_row;
  bool right;

  __host__ __device__ void operator()(int64_t i) const {
    const int64_t row = per_row == 0 ? 0 : i / per_row * width;
    const T* const edges = boundaries + row;
    const int64_t* const order = sorter == nullptr ? nullptr : sorter + row;
    const auto value = comparable(values[i]);
    const bool behind = right;
    const int64_t at = first_of(0, width, [=](int64_t m) {
      const auto edge = comparable(edges[order == nullptr ? m : order[m]]);
      return behind ? edge > value : edge >= value;
    });
    if (narrow != nullptr) {
      narrow[i] = static_cast<int32_t>(at);
    } else {
      wide[i] = at;
    }
  }
};

template <class T>
struct IsAmong {
  bool* out;
  const T* values;
  const T* sorted;
  int64_t m;
  bool invert;

  __host__ __device__ void operator()(int64_t i) const {
    const auto value = comparable(values[i]);
    const T* const all = sorted;
    const int64_t at = first_of(0, m, [=](int64_t k) {
      return !precedes(comparable(all[k]), value);
    });
    out[i] = (at < m && comparable(all[at]) == value) != invert;
  }
};

template <class T>
struct RunLengths {
  int64_t* out;
  const T* sorted;
  int64_t n;

  __host__ __device__ void operator()(int64_t i) const {
    const int64_t column = i % n;
    const T* const row = sorted + (i - column);
    const auto value = comparable(row[column]);
    out[i] =
        first_of(
            column + 1,
            n,
            [=](int64_t k) { return precedes(value, comparable(row[k])); }) -
        column;
  }
};

template <class T>
struct Median {
  T* values;
  int64_t* places;
  const T* sorted;
  const int64_t* order;
  int64_t n;
  bool skip_nan;

  __host__ __device__ void operator()(int64_t r) const {
    const T* const row = sorted + r * n;
    const int64_t numbers =
        first_of(0, n, [=](int64_t k) { return is_nan(comparable(row[k])); });
    int64_t at = 0;
    if (numbers == n) {
      at = (n - 1) / 2;
    } else if (!skip_nan) {
      at = numbers;
    } else if (numbers > 0) {
      at = (numbers - 1) / 2;
    }
    values[r] = row[at];
    places[r] = order[r * n + at];
  }
};

template <class T>
struct BinOf {
  using C = decltype(comparable(T{}));
  using Wide = std::conditional_t<std::is_floating_point_v<C>, C, int64_t>;
  int32_t* out;
  const T* values;
  int64_t bins;
  Wide low;
  Wide high;

  __host__ __device__ void operator()(int64_t i) const {
    const auto value = static_cast<Wide>(comparable(values[i]));
    int64_t bin = bins;
    if (value >= low && value <= high) {
      bin = static_cast<int64_t>(
          (value - low) * static_cast<Wide>(bins) / (high - low));
      bin = bin >= bins ? bins - 1 : bin;
    }
    out[i] = static_cast<int32_t>(bin);
  }
};

template <class T>
struct BinCounts {
  int64_t* out;
  const T* sorted;
  int64_t n;

  __host__ __device__ void operator()(int64_t b) const {
    const T* const all = sorted;
    const int64_t from = first_of(0, n, [=](int64_t k) {
      return static_cast<int64_t>(comparable(all[k])) >= b;
    });
    out[b] = first_of(
                 from,
                 n,
                 [=](int64_t k) {
                   return static_cast<int64_t>(comparable(all[k])) > b;
                 }) -
        from;
  }
};

// A chunk's own sums: runs that end inside it are done, its first and its last
// one may go on.
template <class T>
struct ChunkSums {
  T* out;
  const int64_t* sorted;
  const int64_t* order;
  const T* weights;
  double* first; // of each chunk's first run, inside the chunk
  double* last;
  int64_t n;

  __host__ __device__ void operator()(int64_t c) const {
    const int64_t begin = c * kChunk;
    const int64_t end = begin + kChunk < n ? begin + kChunk : n;
    const bool goes_on = begin > 0 && sorted[begin - 1] == sorted[begin];
    double sum = 0;
    int64_t start = begin;
    for (int64_t i = begin; i < end; ++i) {
      sum += static_cast<double>(weights[order[i]]);
      const bool ends = i + 1 == end || sorted[i + 1] != sorted[i];
      if (!ends) {
        continue;
      }
      if (start == begin) {
        first[c] = sum;
      }
      if (i + 1 == end) {
        last[c] = sum;
      } else if (start != begin || !goes_on) {
        out[sorted[i]] = static_cast<T>(sum);
      }
      sum = 0;
      start = i + 1;
    }
  }
};

// Joins the run that begins in chunk c and reaches its end with what follows.
template <class T>
struct JoinChunks {
  T* out;
  const int64_t* sorted;
  const double* first;
  const double* last;
  int64_t n;

  __host__ __device__ void operator()(int64_t c) const {
    const int64_t begin = c * kChunk;
    const int64_t end = begin + kChunk < n ? begin + kChunk : n;
    const int64_t key = sorted[end - 1];
    if (begin > 0 && sorted[begin - 1] == key) {
      return; // it began before
    }
    double sum = last[c];
    for (int64_t next = c + 1; next * kChunk < n; ++next) {
      if (sorted[next * kChunk] != key) {
        break;
      }
      sum += first[next];
    }
    out[key] = static_cast<T>(sum);
  }
};

template <class T>
musaError_t bin_sums(const FlBinSums& v, musaStream_t stream) {
  const int64_t chunks = fl_sum_chunks(v.n);
  T* const out = reachable<T>(v.out);
  const int64_t* const sorted = reachable<int64_t>(v.sorted);
  double* const first = reachable<double>(static_cast<void*>(v.partial));
  double* const last = first + chunks;
  const musaError_t code = for_each(
      "bincount",
      chunks,
      kGrain / kChunk,
      ChunkSums<T>{
          out,
          sorted,
          reachable<int64_t>(v.order),
          reachable<T>(v.weights),
          first,
          last,
          v.n},
      stream);
  if (code != musaSuccess) {
    return code;
  }
  return for_each(
      "bincount",
      chunks,
      kGrain,
      JoinChunks<T>{out, sorted, first, last, v.n},
      stream);
}

} // namespace
} // namespace torch_fl::kernels

musaError_t
fl_search(FlKernelType type, const FlSearch* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_type(type, [&](auto typed) {
    using T = typename decltype(typed)::Type;
    return k::for_each(
        "searchsorted",
        v->n,
        k::kGrain,
        k::Search<T>{
            k::reachable<T>(v->boundaries),
            v->sorter == nullptr ? nullptr : k::reachable<int64_t>(v->sorter),
            k::reachable<T>(v->values),
            v->narrow != 0 ? nullptr : k::reachable<int64_t>(v->out),
            v->narrow != 0 ? k::reachable<int32_t>(v->out) : nullptr,
            v->width,
            v->per_row,
            v->right != 0},
        stream);
  });
}

musaError_t fl_is_among(
    FlKernelType type,
    void* out,
    const void* values,
    int64_t n,
    const void* sorted,
    int64_t m,
    int32_t invert,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_type(type, [&](auto typed) {
    using T = typename decltype(typed)::Type;
    return k::for_each(
        "isin",
        n,
        k::kGrain,
        k::IsAmong<T>{
            k::reachable<bool>(out),
            k::reachable<T>(values),
            k::reachable<T>(sorted),
            m,
            invert != 0},
        stream);
  });
}

musaError_t fl_run_lengths(
    FlKernelType type,
    void* out,
    const void* sorted,
    int64_t rows,
    int64_t n,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_type(type, [&](auto typed) {
    using T = typename decltype(typed)::Type;
    return k::for_each(
        "mode",
        rows * n,
        k::kGrain,
        k::RunLengths<T>{
            k::reachable<int64_t>(out),
            k::reachable<T>(sorted),
            n},
        stream);
  });
}

musaError_t
fl_median(FlKernelType type, const FlMedian* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_type(type, [&](auto typed) {
    using T = typename decltype(typed)::Type;
    return k::for_each(
        "median",
        v->rows,
        k::kGrain,
        k::Median<T>{
            k::reachable<T>(v->values),
            k::reachable<int64_t>(static_cast<void*>(v->places)),
            k::reachable<T>(v->sorted),
            k::reachable<int64_t>(v->order),
            v->n,
            v->skip_nan != 0},
        stream);
  });
}

musaError_t fl_bin_of(
    FlKernelType type,
    void* out,
    const void* values,
    int64_t n,
    int64_t bins,
    double low,
    double high,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_type(type, [&](auto typed) {
    using T = typename decltype(typed)::Type;
    using Wide = typename k::BinOf<T>::Wide;
    return k::for_each(
        "histc",
        n,
        k::kGrain,
        k::BinOf<T>{
            k::reachable<int32_t>(out),
            k::reachable<T>(values),
            bins,
            static_cast<Wide>(low),
            static_cast<Wide>(high)},
        stream);
  });
}

musaError_t fl_bin_counts(
    FlKernelType type,
    void* out,
    int64_t bins,
    const void* sorted,
    int64_t n,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  if (type == kFlHalf || type == kFlBfloat16 || type == kFlFloat ||
      type == kFlDouble) {
    return musaErrorInvalidValue;
  }
  return k::with_type(type, [&](auto typed) {
    using T = typename decltype(typed)::Type;
    return k::for_each(
        "bincount",
        bins,
        k::kGrain,
        k::BinCounts<T>{k::reachable<int64_t>(out), k::reachable<T>(sorted), n},
        stream);
  });
}

musaError_t
fl_bin_sums(FlKernelType type, const FlBinSums* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  switch (type) {
  case kFlFloat:
    return k::bin_sums<float>(*v, stream);
  case kFlDouble:
    return k::bin_sums<double>(*v, stream);
  default:
    return musaErrorInvalidValue;
  }
}
