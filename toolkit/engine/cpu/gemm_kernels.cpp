// SPDX-License-Identifier: Apache-2.0
// Matrix products for what oneDNN lacks (double, int64), and conversions around
// it; compiled once per instruction set.
#include "toolkit/engine/cpu/gemm_kernels.h"

#include "toolkit/engine/cpu/lanes.h"

namespace musa_standin::engine::cpu {
namespace {

using kernels::narrow;
using kernels::Wide;
using kernels::widen;

constexpr int kVectors = 2;     // of columns of a tile
constexpr int kRows = 6;        // of a tile
constexpr int64_t kDepth = 256; // rows of b in a packed panel

template <class T>
constexpr int64_t kColumns = kVectors * kLanes<T>;

// op(b)[k0, k0 + depth) x [n0, n0 + width) into rows of kColumns, zero filled.
template <class T>
void pack(
    const Gemm<T>& g,
    int64_t k0,
    int64_t depth,
    int64_t n0,
    int64_t width,
    T* panel) {
  for (int64_t k = 0; k < depth; ++k) {
    T* row = panel + k * kColumns<T>;
    if (g.transpose_b) {
      for (int64_t n = 0; n < width; ++n)
        row[n] = g.b[(n0 + n) * g.ldb + k0 + k];
    } else {
      for (int64_t n = 0; n < width; ++n)
        row[n] = g.b[(k0 + k) * g.ldb + n0 + n];
    }
    for (int64_t n = width; n < kColumns<T>; ++n)
      row[n] = T(0);
  }
}

template <class T>
struct Tile {
  T value[kRows][kColumns<T>];
};

// Rows rows of op(a), from address a on, times a packed panel.
template <size_t Rows, class T>
void multiply(
    const T* a,
    int64_t row_step,
    int64_t k_step,
    int64_t depth,
    const T* panel,
    Tile<T>& tile) {
  Vector<T> sum[Rows][size_t{kVectors}] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Vector<T> b[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      b[v] = *reinterpret_cast<const typename VectorOf<T>::Loose*>(
          panel + k * kColumns<T> + v * kLanes<T>);
#pragma GCC unroll 6
    for (size_t r = 0; r < Rows; ++r) {
      const T x = a[static_cast<int64_t>(r) * row_step + k * k_step];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        sum[r][v] += x * b[v];
    }
  }
  for (size_t r = 0; r < Rows; ++r) {
    for (int v = 0; v < kVectors; ++v)
      *reinterpret_cast<typename VectorOf<T>::Loose*>(
          &tile.value[r][v * kLanes<T>]) = sum[r][v];
  }
}

template <class T>
void multiply(
    int64_t rows,
    const T* a,
    int64_t row_step,
    int64_t k_step,
    int64_t depth,
    const T* panel,
    Tile<T>& tile) {
  switch (rows) {
  case 1:
    return multiply<1>(a, row_step, k_step, depth, panel, tile);
  case 2:
    return multiply<2>(a, row_step, k_step, depth, panel, tile);
  case 3:
    return multiply<3>(a, row_step, k_step, depth, panel, tile);
  case 4:
    return multiply<4>(a, row_step, k_step, depth, panel, tile);
  case 5:
    return multiply<5>(a, row_step, k_step, depth, panel, tile);
  default:
    return multiply<6>(a, row_step, k_step, depth, panel, tile);
  }
}

template <class T>
void store(
    const Gemm<T>& g,
    const Tile<T>& tile,
    int64_t m0,
    int64_t rows,
    int64_t n0,
    int64_t width,
    T beta) {
  for (int64_t r = 0; r < rows; ++r) {
    T* c = g.c + (m0 + r) * g.ldc + n0;
    const T* value = tile.value[r];
    if (beta == T(0)) {
      for (int64_t n = 0; n < width; ++n)
        c[n] = g.alpha * value[n];
    } else {
      for (int64_t n = 0; n < width; ++n)
        c[n] = g.alpha * value[n] + beta * c[n];
    }
  }
}

template <class T>
void gemm(const Gemm<T>& g) {
  alignas(64) T panel[kDepth * kColumns<T>];
  Tile<T> tile; // NOLINT(cppcoreguidelines-pro-type-member-init): big, and
                // written before it is read
  const int64_t row_step = g.transpose_a ? 1 : g.lda;
  const int64_t k_step = g.transpose_a ? g.lda : 1;
  for (int64_t k0 = 0; k0 < g.k; k0 += kDepth) {
    const int64_t depth = smaller(kDepth, g.k - k0);
    const T beta = k0 == 0 ? g.beta : T(1);
    for (int64_t n0 = 0; n0 < g.n; n0 += kColumns<T>) {
      const int64_t width = smaller(kColumns<T>, g.n - n0);
      pack(g, k0, depth, n0, width, panel);
      for (int64_t m0 = 0; m0 < g.m; m0 += kRows) {
        const int64_t rows = smaller(kRows, g.m - m0);
        const T* a = g.a + m0 * row_step + k0 * k_step;
        multiply(rows, a, row_step, k_step, depth, panel, tile);
        store(g, tile, m0, rows, n0, width, beta);
      }
    }
  }
}

template <class T>
void dot_of(void* out, const void* left, const void* right, int64_t n) {
  const T* l = static_cast<const T*>(left);
  const T* r = static_cast<const T*>(right);
  constexpr int64_t kRun = 4096;
  double total = 0;
  for (int64_t at = 0; at < n; at += kRun) {
    const int64_t end = smaller(at + kRun, n);
    Wide<T> sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = at; i < end; ++i)
      sum += widen(l[i]) * widen(r[i]);
    total += static_cast<double>(sum);
  }
  *static_cast<T*>(out) = narrow<T>(static_cast<Wide<T>>(total));
}

void dot(
    Dtype dtype,
    void* out,
    const void* left,
    const void* right,
    int64_t n) {
  if (dtype != Dtype::kInt64) {
    return with_floating(dtype, [&](auto tag) {
      dot_of<typename decltype(tag)::Type>(out, left, right, n);
    });
  }
  const auto* l = static_cast<const uint64_t*>(left);
  const auto* r = static_cast<const uint64_t*>(right);
  uint64_t sum = 0; // wraps, as the device's integers do
  for (int64_t i = 0; i < n; ++i)
    sum += l[i] * r[i];
  *static_cast<uint64_t*>(out) = sum;
}

template <class T>
void widen_all(float* out, const T* in, int64_t begin, int64_t end) {
  int64_t i = begin;
  for (; i + kLanes<float> <= end; i += kLanes<float>)
    store_lanes(out + i, load_lanes(in + i));
  for (; i < end; ++i)
    out[i] = widen(in[i]);
}

// Callers bring HALF and BFLOAT16 alone.
void to_float(
    Dtype dtype,
    float* out,
    const void* in,
    int64_t begin,
    int64_t end) {
  if (dtype == Dtype::kHalf)
    widen_all(out, static_cast<const kernels::Half*>(in), begin, end);
  else
    widen_all(out, static_cast<const kernels::Bfloat16*>(in), begin, end);
}

void round_tf32(float* out, const float* in, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i)
    out[i] = kernels::round_tf32(in[i]);
}

template <class T>
void epilogue_rows(const GemmEpilogue& job, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const W beta = static_cast<W>(job.beta);
  const W gamma = static_cast<W>(job.gamma);
  const T* bias = static_cast<const T*>(job.bias);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * job.ld;
    const W* product = static_cast<const W*>(job.product) + at;
    T* d = static_cast<T*>(job.d) + at;
    const T* c = job.c != nullptr ? static_cast<const T*>(job.c) + at : nullptr;
    int64_t i = 0;
    for (; i + kLanes<W> <= job.n; i += kLanes<W>) {
      Vector<W> value = load_lanes(product + i);
      if (c != nullptr)
        value += beta * load_lanes(c + i);
      if (bias != nullptr)
        value += gamma * load_lanes(bias + i);
      store_lanes(d + i, value);
    }
    for (; i < job.n; ++i) {
      W value = product[i];
      if (c != nullptr)
        value += beta * widen(c[i]);
      if (bias != nullptr)
        value += gamma * widen(bias[i]);
      d[i] = narrow<T>(value);
    }
  }
}

void epilogue(const GemmEpilogue& job, int64_t begin, int64_t end) {
  with_floating(job.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    epilogue_rows<T>(job, begin, end);
  });
}

} // namespace

const GemmKernels MUSA_ISA_TABLE(kGemmKernels) =
    {gemm<double>, gemm<uint64_t>, dot, to_float, round_tf32, epilogue};

} // namespace musa_standin::engine::cpu
