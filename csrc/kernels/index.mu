// SPDX-License-Identifier: Apache-2.0
// Elements picked by index tensors, read and written.
#include "csrc/kernels/index.h"

#include "csrc/kernels/launch.h"
#include "csrc/kernels/nest.h"
#include "csrc/kernels/unit.h"

namespace torch_fl::kernels {
namespace {

constexpr int64_t kGrain = 8192;

// Index tensors at one place, made into an offset.
template <int K>
struct Picker {
  Reporter reporter;
  bool from_end;
  const int64_t* index[K];
  int64_t extent[K];
  int64_t step[K];

  static Picker of(const FlPicks& v, musaStream_t stream) {
    Picker p{};
    p.reporter = Reporter::of(v.name, stream);
    p.from_end = v.from_end != 0;
    for (int k = 0; k < K; ++k) {
      p.index[k] = reachable<int64_t>(v.index[k]);
      p.extent[k] = v.extent[k];
      p.step[k] = v.step[k];
    }
    return p;
  }
  // False, and reported: out of range.
  __host__ __device__ bool add(const int64_t* at, int64_t& offset) const {
    for (int k = 0; k < K; ++k) {
      int64_t i = index[k][at[k]];
      if (i < 0 && from_end) {
        i += extent[k];
      }
      if (i < 0 || i >= extent[k]) {
        reporter.out_of_range();
        return false;
      }
      offset += i * step[k];
    }
    return true;
  }
};

template <int K>
Nest<2 + K> nest_of(const FlPicks& v) {
  return Nest<2 + K>::of(v.rank, v.numel, v.dims, v.strides);
}

// Move: void operator()(int64_t dense, int64_t picked).
template <int K, class Move>
struct PickLoop {
  Move move;
  Picker<K> picker;
  Nest<2 + K> nest;

  __host__ __device__ void operator()(int64_t i) const {
    int64_t at[2 + K];
    nest.offsets(i, at);
    if (picker.add(at + 2, at[1])) {
      move(at[0], at[1]);
    }
  }

  // The same for [first, last) on a host: a line of the innermost dimension at
  // a time, whose indices are often all the same.
  __forceinline__ void range(int64_t first, int64_t last) const {
    const int64_t line = nest.rank == 0 ? 1 : nest.wide_dims[0];
    bool fixed = true;
    for (int k = 0; k < K; ++k) {
      fixed = fixed && (nest.rank == 0 || nest.strides[2 + k][0] == 0);
    }
    for (int64_t i = first; i < last;) {
      int64_t at[2 + K];
      nest.offsets(i, at);
      const int64_t left = line - i % line;
      const int64_t n = left < last - i ? left : last - i;
      const int64_t dense = nest.rank == 0 ? 0 : nest.strides[0][0];
      const int64_t picked = nest.rank == 0 ? 0 : nest.strides[1][0];
      if (fixed) {
        if (picker.add(at + 2, at[1])) {
          for (int64_t j = 0; j < n; ++j) {
            move(at[0] + j * dense, at[1] + j * picked);
          }
        }
      } else {
        for (int64_t j = 0; j < n; ++j) {
          int64_t offset = at[1] + j * picked;
          if (picker.add(at + 2, offset)) {
            move(at[0] + j * dense, offset);
          }
          for (int k = 0; k < K; ++k) {
            at[2 + k] += nest.strides[2 + k][0];
          }
        }
      }
      i += n;
    }
  }
};

template <class U>
struct Get {
  U* dense;
  const U* picked;
  __host__ __device__ void operator()(int64_t to, int64_t from) const {
    dense[to] = picked[from];
  }
};
template <class U>
struct Put {
  const U* dense;
  U* picked;
  __host__ __device__ void operator()(int64_t from, int64_t to) const {
    picked[to] = dense[from];
  }
};
template <class U>
struct PutNumber {
  U number;
  U* picked;
  __host__ __device__ void operator()(int64_t /*from*/, int64_t to) const {
    picked[to] = number;
  }
};

template <int K, class Move>
musaError_t loop_of(const FlPicks& v, const Move& move, musaStream_t stream) {
  return for_each(
      v.name,
      v.numel,
      kGrain,
      PickLoop<K, Move>{move, Picker<K>::of(v, stream), nest_of<K>(v)},
      stream);
}

template <class Move>
musaError_t run(const FlPicks& v, const Move& move, musaStream_t stream) {
  return v.count == 1 ? loop_of<1>(v, move, stream)
                      : loop_of<2>(v, move, stream);
}

template <int K, class T>
struct Places {
  T* out;
  bool more;
  Picker<K> picker;
  Nest<2 + K> nest;

  __host__ __device__ void operator()(int64_t i) const {
    int64_t at[2 + K];
    nest.offsets(i, at);
    int64_t offset = 0;
    if (picker.add(at + 2, offset)) {
      T& to = out[at[0]];
      to = static_cast<T>(more ? to + offset : offset);
    } else {
      out[at[0]] = 0;
    }
  }
};

template <class T>
musaError_t
places(void* out, bool more, const FlPicks& v, musaStream_t stream) {
  T* const to = reachable<T>(out);
  if (v.count == 1) {
    return for_each(
        v.name,
        v.numel,
        kGrain,
        Places<1, T>{to, more, Picker<1>::of(v, stream), nest_of<1>(v)},
        stream);
  }
  return for_each(
      v.name,
      v.numel,
      kGrain,
      Places<2, T>{to, more, Picker<2>::of(v, stream), nest_of<2>(v)},
      stream);
}

template <class T>
struct Unravel {
  Reporter reporter;
  const int64_t* index;
  T* out;
  int64_t extent;
  Nest<1> nest;

  __host__ __device__ void operator()(int64_t i) const {
    int64_t at = index[i];
    if (at < 0) {
      at += extent;
    }
    if (at < 0 || at >= extent) {
      reporter.out_of_range();
      out[i] = 0;
      return;
    }
    int64_t offset[1];
    nest.offsets(at, offset);
    out[i] = static_cast<T>(offset[0]);
  }
};

template <class T>
musaError_t unravel(const FlUnravel& v, musaStream_t stream) {
  return for_each(
      v.name,
      v.n,
      kGrain,
      Unravel<T>{
          Reporter::of(v.name, stream),
          reachable<int64_t>(v.index),
          reachable<T>(v.out),
          v.extent,
          Nest<1>::of(v.rank, v.extent, v.dims, &v.strides)},
      stream);
}

template <class U>
struct PutLast {
  SortedKeys keys;
  const int64_t* order;
  int64_t n;
  U* target;
  const U* source;
  U number;
  int64_t row_stride;
  Columns columns;
  Nest<2> nest;

  __host__ __device__ void operator()(int64_t i) const {
    int64_t p = 0;
    int64_t c = 0;
    columns.split(i, p, c);
    const int64_t key = keys.at(p);
    if (p + 1 < n && keys.at(p + 1) == key) {
      return;
    }
    int64_t at[2] = {c, c};
    if (nest.rank != 0) {
      nest.offsets(c, at);
    }
    target[key + at[0]] =
        source == nullptr ? number : source[order[p] * row_stride + at[1]];
  }
};

template <class U>
struct MaskedScatter {
  U* target;
  const bool* mask;
  const int64_t* rank;
  const U* source;
  int64_t available;
  Reporter reporter;
  Nest<3> nest;

  __host__ __device__ void operator()(int64_t i) const {
    int64_t at[3] = {i, i, i};
    if (nest.rank != 0) {
      nest.offsets(i, at);
    }
    if (!mask[at[1]]) {
      return;
    }
    const int64_t from = rank[at[2]] - 1;
    if (from >= available) {
      reporter.out_of_range();
      return;
    }
    target[at[0]] = source[from];
  }
};

} // namespace
} // namespace torch_fl::kernels

musaError_t fl_index_get(const FlPicks* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_unit(v->unit_bytes, [&](auto unit) {
    using U = decltype(unit);
    return k::run(
        *v,
        k::Get<U>{k::reachable<U>(v->dense), k::reachable<U>(v->picked)},
        stream);
  });
}

musaError_t fl_index_put(const FlPicks* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_unit(v->unit_bytes, [&](auto unit) {
    using U = decltype(unit);
    U* const picked = k::reachable<U>(v->picked);
    if (v->dense == nullptr) {
      return k::run(
          *v,
          k::PutNumber<U>{k::unit_of<U>(v->number), picked},
          stream);
    }
    return k::run(*v, k::Put<U>{k::reachable<U>(v->dense), picked}, stream);
  });
}

musaError_t fl_index_places(
    FlKernelType type,
    void* out,
    int32_t more,
    const FlPicks* v,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  switch (type) {
  case kFlInt32:
    return k::places<int32_t>(out, more != 0, *v, stream);
  case kFlInt64:
    return k::places<int64_t>(out, more != 0, *v, stream);
  default:
    return musaErrorInvalidValue;
  }
}

musaError_t
fl_index_unravel(FlKernelType type, const FlUnravel* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  switch (type) {
  case kFlInt32:
    return k::unravel<int32_t>(*v, stream);
  case kFlInt64:
    return k::unravel<int64_t>(*v, stream);
  default:
    return musaErrorInvalidValue;
  }
}

musaError_t fl_index_put_last(
    const char* name,
    const FlSortedRows* v,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  const int64_t n = v->n * v->columns;
  return k::with_unit(v->unit_bytes, [&](auto unit) {
    using U = decltype(unit);
    return k::for_each(
        name,
        n,
        k::kGrain,
        k::PutLast<U>{
            k::SortedKeys::of(v->keys, v->keys_wide != 0),
            k::reachable<int64_t>(v->order),
            v->n,
            k::reachable<U>(v->target),
            k::reachable<U>(v->source),
            k::unit_of<U>(v->number),
            v->row_stride,
            k::Columns::of(v->columns, n),
            k::Nest<2>::of(v->rank, v->columns, v->dims, v->strides)},
        stream);
  });
}

musaError_t fl_masked_scatter(
    const FlOperands* v,
    int32_t unit_bytes,
    const void* source,
    int64_t source_numel,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  constexpr const char* kName = "masked_scatter_";
  return k::with_unit(unit_bytes, [&](auto unit) {
    using U = decltype(unit);
    return k::for_each(
        kName,
        v->numel,
        k::kGrain,
        k::MaskedScatter<U>{
            k::reachable<U>(v->address[0]),
            k::reachable<bool>(v->address[1]),
            k::reachable<int64_t>(v->address[2]),
            k::reachable<U>(source),
            source_numel,
            k::Reporter::of(kName, stream),
            k::Nest<3>::of(*v)},
        stream);
  });
}
