// SPDX-License-Identifier: Apache-2.0
// Folds of sorted rows. Blocks of kBlock positions are walked at once; a
// segment inside a block is finished there, what crosses a border is left as
// two rows a block, its first key's and its last key's, which are sorted again:
// the next level folds those, until one block is left.
#include "csrc/kernels/segment.h"

#include "csrc/kernels/arithmetic.h"
#include "csrc/kernels/unit.h"

namespace torch_fl::kernels {
namespace {

constexpr int64_t kBlock = 32;
constexpr int kBatch = 8;       // loads in flight
constexpr int64_t kGrain = 256; // walks

int64_t blocks_of(int64_t n) {
  return (n + kBlock - 1) / kBlock;
}

// What every level knows: the keys of level 0, and the target.
template <class T>
struct Finish {
  using A = typename Accumulated<T>::Type;

  FlFold fold;
  bool keep;
  bool mean;
  int64_t skipped;
  SortedKeys keys;
  int64_t n;
  T* target;
  int64_t key_stride;

  // Positions with a smaller key, or also an equal one.
  __host__ __device__ int64_t before(int64_t key, bool equal) const {
    int64_t low = 0;
    int64_t high = n;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const int64_t k = keys.at(middle);
      if (k < key || (equal && k == key)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  __host__ __device__ void write(int64_t key, int64_t column, A value) const {
    if (key == skipped) {
      return;
    }
    T& to = target[key * key_stride + column];
    if (keep) {
      value = folded(fold, static_cast<A>(to), value);
    }
    if (mean) {
      const int64_t count = before(key, true) - before(key, false);
      value = divided(value, static_cast<A>(count + (keep ? 1 : 0)));
    }
    to = stored<T>(value);
  }
};

// Level 0: rows of the source.
template <class T>
struct SourceRows {
  using A = typename Accumulated<T>::Type;

  SortedKeys keys;
  const int64_t* order;
  const int64_t* row_of;
  const T* weight;
  const int64_t* divisor;
  const T* source;
  int64_t row_stride;
  A alpha;
  bool scaled;

  __host__ __device__ int64_t key(int64_t p) const { return keys.at(p); }
  __host__ __device__ A load(int64_t p, int64_t column) const {
    const int64_t sample = order[p];
    const int64_t row = row_of == nullptr ? sample : row_of[sample];
    A value = static_cast<A>(source[row * row_stride + column]);
    if (scaled) {
      value *= alpha;
      if (weight != nullptr) {
        value *= static_cast<A>(weight[sample]);
      }
      if (divisor != nullptr) {
        value = divided(value, static_cast<A>(divisor[row]));
      }
    }
    return value;
  }
};

// Further levels: rows that the level below left.
template <class A>
struct PartialRows {
  const int64_t* keys;
  const A* values;
  int64_t columns;

  __host__ __device__ int64_t key(int64_t p) const { return keys[p]; }
  __host__ __device__ A load(int64_t p, int64_t column) const {
    return values[p * columns + column];
  }
};

// One walk: a block of positions and a column.
template <class T, class Rows>
struct Walk {
  using A = typename Accumulated<T>::Type;
  static constexpr int64_t kTile = 64; // columns at once on a host

  Rows rows;
  Finish<T> finish;
  int64_t n; // rows of this level
  bool last; // one block: nothing is left for another level
  int64_t* next_keys;
  A* next_values;
  Columns columns;
  bool partial; // rows are dense, as scratch is
  Nest<2> nest;

  __host__ __device__ void operator()(int64_t i) const {
    int64_t block = 0;
    int64_t column = 0;
    columns.split(i, block, column);
    int64_t at[2] = {column, column};
    if (nest.rank != 0) {
      nest.offsets(column, at);
    }
    if (partial) {
      at[1] = column;
    }
    const int64_t begin = block * kBlock;
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    const FlFold fold = finish.fold;
    int64_t key = rows.key(begin);
    A sum = identity<A>(fold);
    bool first = true;
    for (int64_t p = begin; p < end; p += kBatch) {
      int64_t some_keys[kBatch];
      A some[kBatch];
      for (int j = 0; j < kBatch; ++j) {
        const int64_t q = p + j < end ? p + j : end - 1;
        some_keys[j] = rows.key(q);
        some[j] = rows.load(q, at[1]);
      }
      for (int j = 0; j < kBatch; ++j) {
        if (p + j < end) {
          if (some_keys[j] != key) {
            leave(block, first, false, key, column, at[0], sum);
            first = false;
            key = some_keys[j];
            sum = identity<A>(fold);
          }
          sum = folded(fold, sum, some[j]);
        }
      }
    }
    leave(block, first, true, key, column, at[0], sum);
  }

  // On a host: rows are read along their columns.
  __forceinline__ void range(int64_t from, int64_t to) const {
    for (int64_t i = from; i < to;) {
      if (nest.rank != 0) {
        (*this)(i++);
        continue;
      }
      int64_t block = 0;
      int64_t column = 0;
      columns.split(i, block, column);
      int64_t width = columns.count - column;
      width = width < to - i ? width : to - i;
      width = width < kTile ? width : kTile;
      tile(block, column, width);
      i += width;
    }
  }

 private:
  __forceinline__ void tile(int64_t block, int64_t column, int64_t width)
      const {
    const int64_t begin = block * kBlock;
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    const FlFold fold = finish.fold;
    int64_t key = rows.key(begin);
    bool first = true;
    A sums[kTile];
    for (int64_t c = 0; c < width; ++c) {
      sums[c] = identity<A>(fold);
    }
    for (int64_t p = begin; p <= end; ++p) {
      if (p == end || rows.key(p) != key) {
        for (int64_t c = 0; c < width; ++c) {
          leave(block, first, p == end, key, column + c, column + c, sums[c]);
          sums[c] = identity<A>(fold);
        }
        if (p == end) {
          break;
        }
        first = false;
        key = rows.key(p);
      }
      if (fold == kFlSum) {
        for (int64_t c = 0; c < width; ++c) {
          sums[c] += rows.load(p, column + c);
        }
      } else {
        for (int64_t c = 0; c < width; ++c) {
          sums[c] = folded(fold, sums[c], rows.load(p, column + c));
        }
      }
    }
  }

  // A segment ends, or the block does: finished, or left for the next level.
  __host__ __device__ void leave(
      int64_t block,
      bool first,
      bool end,
      int64_t key,
      int64_t column,
      int64_t offset,
      A sum) const {
    if (last || !(first || end)) {
      finish.write(key, offset, sum);
      return;
    }
    const int64_t head = 2 * block;
    if (first) {
      next_values[head * columns.count + column] = sum;
      if (column == 0) {
        next_keys[head] = key;
      }
    }
    if (end) {
      // A block of one segment leaves it in the first row alone.
      next_values[(head + 1) * columns.count + column] =
          first ? identity<A>(finish.fold) : sum;
      if (column == 0) {
        next_keys[head + 1] = key;
      }
    }
  }
};

template <class T, class Rows>
musaError_t
launch(const FlSegments& v, const Walk<T, Rows>& walk, musaStream_t stream) {
  return for_each(v.name, blocks_of(walk.n) * v.columns, kGrain, walk, stream);
}

template <class T, class Rows>
Walk<T, Rows> walk_of(
    const FlSegments& v,
    const Rows& rows,
    const Finish<T>& finish,
    int64_t n,
    char* scratch) {
  Walk<T, Rows> walk{};
  walk.rows = rows;
  walk.finish = finish;
  walk.n = n;
  walk.last = n <= kBlock;
  walk.next_keys = reinterpret_cast<int64_t*>(scratch);
  walk.next_values = reinterpret_cast<typename Accumulated<T>::Type*>(
      walk.next_keys + 2 * blocks_of(n));
  walk.columns = Columns::of(v.columns, blocks_of(n) * v.columns);
  walk.nest = Nest<2>::of(v.rank, v.columns, v.dims, v.strides);
  return walk;
}

template <class T>
int64_t level_bytes(int64_t n, int64_t columns) {
  using A = typename Accumulated<T>::Type;
  return 2 * blocks_of(n) *
      (8 + columns * static_cast<int64_t>(sizeof(A)) + 8) / 8 * 8;
}

template <class T>
int64_t scratch_bytes(int64_t n, int64_t columns) {
  int64_t bytes = 0;
  while (n > kBlock) {
    bytes += level_bytes<T>(n, columns);
    n = 2 * blocks_of(n);
  }
  return bytes;
}

template <class T>
musaError_t segments(const FlSegments& v, musaStream_t stream) {
  using A = typename Accumulated<T>::Type;
  if (v.n <= 0 || v.columns <= 0) {
    return musaSuccess;
  }
  const SortedKeys keys = SortedKeys::of(v.keys, v.keys_wide != 0);
  const Finish<T> finish{
      v.fold,
      v.keep != 0,
      v.mean != 0,
      v.skipped,
      keys,
      v.n,
      reachable<T>(v.target),
      v.key_stride};
  SourceRows<T> source{};
  source.keys = keys;
  source.order = reachable<int64_t>(v.order);
  source.row_of = reachable<int64_t>(v.row_of);
  source.weight = reachable<T>(v.weight);
  source.divisor = reachable<int64_t>(v.divisor);
  source.source = reachable<T>(v.source);
  source.row_stride = v.row_stride;
  source.alpha = number_of<A>(v.alpha, v.whole_alpha);
  source.scaled = v.weight != nullptr || v.divisor != nullptr ||
      source.alpha != static_cast<A>(1);
  char* scratch = reachable<char>(v.scratch);
  int64_t n = v.n;
  Walk<T, SourceRows<T>> walk = walk_of(v, source, finish, n, scratch);
  musaError_t code = launch(v, walk, stream);
  const int64_t* left_keys = walk.next_keys;
  const A* left_values = walk.next_values;
  while (code == musaSuccess && n > kBlock) {
    scratch += level_bytes<T>(n, v.columns);
    n = 2 * blocks_of(n);
    auto next = walk_of(
        v,
        PartialRows<A>{left_keys, left_values, v.columns},
        finish,
        n,
        scratch);
    next.partial = true;
    code = launch(v, next, stream);
    left_keys = next.next_keys;
    left_values = next.next_values;
  }
  return code;
}

} // namespace
} // namespace torch_fl::kernels

int64_t fl_segments_scratch(FlKernelType type, int64_t n, int64_t columns) {
  namespace k = torch_fl::kernels;
  int64_t bytes = 0;
  static_cast<void>(k::with_type(type, [&](auto tag) {
    bytes = k::scratch_bytes<decltype(tag)>(n, columns);
    return musaSuccess;
  }));
  return bytes;
}

musaError_t
fl_segments(FlKernelType type, const FlSegments* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_type(type, [&](auto tag) {
    return k::segments<decltype(tag)>(*v, stream);
  });
}
