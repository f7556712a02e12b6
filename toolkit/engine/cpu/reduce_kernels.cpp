// SPDX-License-Identifier: Apache-2.0
// Reduction loops; compiled once per instruction set.
#include "toolkit/engine/cpu/reduce_kernels.h"

#include "toolkit/kernels/fold.h"

namespace musa_standin::engine::cpu {
namespace {

namespace fn = kernels;

constexpr int64_t kColumns = 256;

// What partial results are joined in.
template <class T>
struct WideOf {
  using Type = double;
};
template <>
struct WideOf<int64_t> {
  using Type = int64_t;
};
template <class T>
using Wide = typename WideOf<T>::Type;

inline double value_of(Cell c, double /*tag*/) {
  return c.real;
}
inline int64_t value_of(Cell c, int64_t /*tag*/) {
  return c.whole;
}
inline Cell cell_of(double v) {
  Cell c{};
  c.real = v;
  return c;
}
inline Cell cell_of(int64_t v) {
  Cell c{};
  c.whole = v;
  return c;
}

// acc[i] joins the elements of column i; the rows' sums are made in pairs.
template <class F, class T>
inline void accumulate(
    T* __restrict acc,
    const T* __restrict x,
    int64_t n,
    int64_t row_step,
    int64_t rows,
    T order) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T* a = x + r * row_step;
    const T* b = a + row_step;
    const T* c = b + row_step;
    const T* d = c + row_step;
    for (int64_t i = 0; i < n; ++i) {
      const T left =
          F::template join<T>(F::of(a[i], order), F::of(b[i], order));
      const T right =
          F::template join<T>(F::of(c[i], order), F::of(d[i], order));
      acc[i] = F::template join<T>(acc[i], F::template join<T>(left, right));
    }
  }
  for (; r < rows; ++r) {
    const T* a = x + r * row_step;
    for (int64_t i = 0; i < n; ++i)
      acc[i] = F::template join<T>(acc[i], F::of(a[i], order));
  }
}

template <class F, class T>
Cell block(const void* from, int64_t n, double order) {
  const T* x = static_cast<const T*>(from);
  const T p = static_cast<T>(order);
  using W = Wide<T>;
  T acc[kFoldLanes];
  W sum = F::template start<W>();
  int64_t lanes = n;
  if (n >= kFoldLanes) {
    lanes = kFoldLanes;
    for (int64_t i = 0; i < kFoldLanes; ++i)
      acc[i] = F::template start<T>();
    const int64_t rows = n / kFoldLanes;
    accumulate<F, T>(acc, x, kFoldLanes, kFoldLanes, rows, p);
    const int64_t rest = n - rows * kFoldLanes;
    accumulate<F, T>(acc, x + rows * kFoldLanes, rest, 0, 1, p);
    for (; lanes > 8; lanes /= 2) {
      for (int64_t i = 0; i < lanes / 2; ++i)
        acc[i] = F::template join<T>(acc[i], acc[i + lanes / 2]);
    }
  } else {
    for (int64_t i = 0; i < n; ++i)
      acc[i] = F::of(x[i], p);
  }
  for (int64_t i = 0; i < lanes; ++i)
    sum = F::template join<W>(sum, static_cast<W>(acc[i]));
  return cell_of(sum);
}

template <class F, class T>
void rows(
    Cell* total,
    const void* from,
    int64_t n,
    int64_t row_step,
    int64_t count,
    double order) {
  using W = Wide<T>;
  const T* x = static_cast<const T*>(from);
  T acc[kColumns];
  for (int64_t i = 0; i < n; ++i)
    acc[i] = F::template start<T>();
  accumulate<F, T>(acc, x, n, row_step, count, static_cast<T>(order));
  W* wide = reinterpret_cast<W*>(total);
  for (int64_t i = 0; i < n; ++i)
    wide[i] = F::template join<W>(wide[i], static_cast<W>(acc[i]));
}

template <class F, class W>
Cell join(Cell a, Cell b) {
  return cell_of(F::template join<W>(value_of(a, W()), value_of(b, W())));
}

template <class T>
void moments_block(
    const void* from,
    int64_t n,
    double* mean,
    double* deviation) {
  const T* x = static_cast<const T*>(from);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i)
    sum += static_cast<double>(x[i]);
  const double m = sum / static_cast<double>(n);
  double squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - m;
    squares += d * d;
  }
  *mean = m;
  *deviation = squares;
}

template <class T>
void moments_row(
    double* __restrict mean,
    double* __restrict deviation,
    const void* from,
    int64_t n,
    int64_t count) {
  const T* __restrict x = static_cast<const T*>(from);
  const double share = 1.0 / static_cast<double>(count);
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(x[i]);
    const double before = v - mean[i];
    mean[i] += before * share;
    deviation[i] += before * (v - mean[i]);
  }
}

template <class T>
int64_t find(const void* from, int64_t n, Cell value) {
  const T* x = static_cast<const T*>(from);
  const T v = static_cast<T>(value_of(value, Wide<T>()));
  constexpr int64_t kPiece = 64;
  int64_t at = 0;
  for (; at + kPiece <= n; at += kPiece) {
    int hit = 0;
    for (int64_t i = 0; i < kPiece; ++i)
      hit |= static_cast<int>(x[at + i] == v) |
          static_cast<int>(kernels::is_nan(x[at + i]));
    if (hit != 0)
      break;
  }
  for (; at < n; ++at) {
    if (x[at] == v || kernels::is_nan(x[at]))
      return at;
  }
  return 0;
}

struct Larger {
  template <class T>
  static bool of(T a, T b) {
    return a > b || (kernels::is_nan(a) && !kernels::is_nan(b));
  }
};
struct Smaller {
  template <class T>
  static bool of(T a, T b) {
    return a < b || (kernels::is_nan(a) && !kernels::is_nan(b));
  }
};

template <class Order, class W>
bool better(Cell a, Cell b) {
  return Order::of(value_of(a, W()), value_of(b, W()));
}

template <class Order, class T>
void arg_row(
    Cell* best,
    int64_t* __restrict at,
    const void* from,
    int64_t n,
    int64_t position) {
  using W = Wide<T>;
  const T* __restrict x = static_cast<const T*>(from);
  W* __restrict value = reinterpret_cast<W*>(best);
  for (int64_t i = 0; i < n; ++i) {
    const W v = static_cast<W>(x[i]);
    const bool wins = Order::of(v, value[i]);
    value[i] = wins ? v : value[i];
    at[i] = wins ? position : at[i];
  }
}

template <class F, class T>
constexpr FoldKernels fold() {
  using W = Wide<T>;
  FoldKernels k{};
  if constexpr (T(1) / T(2) == T(0)) {
    k.start_whole = F::template start<W>();
  } else {
    k.start_real = F::template start<W>();
  }
  k.block = block<F, T>;
  k.rows = rows<F, T>;
  k.join = join<F, W>;
  return k;
}

template <class T>
constexpr void numbers(FoldKernels* k) {
  k[static_cast<int>(Fold::kSum)] = fold<fn::FoldSum, T>();
  k[static_cast<int>(Fold::kSumAbs)] = fold<fn::FoldSumAbs, T>();
  k[static_cast<int>(Fold::kSumSquare)] = fold<fn::FoldSumSquare, T>();
  k[static_cast<int>(Fold::kProduct)] = fold<fn::FoldProduct, T>();
  k[static_cast<int>(Fold::kProductNonzero)] =
      fold<fn::FoldProductNonzero, T>();
  k[static_cast<int>(Fold::kMax)] = fold<fn::FoldMax, T>();
  k[static_cast<int>(Fold::kMin)] = fold<fn::FoldMin, T>();
}

template <class Order, class T>
constexpr ArgKernels arg() {
  return {find<T>, better<Order, Wide<T>>, arg_row<Order, T>};
}

constexpr ReduceKernels build() {
  ReduceKernels t{};
  numbers<float>(t.fold[kF32]);
  numbers<double>(t.fold[kF64]);
  numbers<int64_t>(t.fold[kI64]);
  t.fold[kF32][static_cast<int>(Fold::kSumPower)] =
      fold<fn::FoldSumPower, float>();
  t.fold[kF64][static_cast<int>(Fold::kSumPower)] =
      fold<fn::FoldSumPower, double>();
  t.fold[kI64][static_cast<int>(Fold::kAnd)] = fold<fn::FoldAnd, int64_t>();
  t.fold[kI64][static_cast<int>(Fold::kOr)] = fold<fn::FoldOr, int64_t>();
  t.moments[kF32] = {moments_block<float>, moments_row<float>};
  t.moments[kF64] = {moments_block<double>, moments_row<double>};
  t.largest[kF32] = arg<Larger, float>();
  t.largest[kF64] = arg<Larger, double>();
  t.largest[kI64] = arg<Larger, int64_t>();
  t.smallest[kF32] = arg<Smaller, float>();
  t.smallest[kF64] = arg<Smaller, double>();
  t.smallest[kI64] = arg<Smaller, int64_t>();
  return t;
}

} // namespace

extern const ReduceKernels MUSA_ISA_TABLE(kReduceKernels);
constexpr ReduceKernels MUSA_ISA_TABLE(kReduceKernels) = build();

} // namespace musa_standin::engine::cpu
