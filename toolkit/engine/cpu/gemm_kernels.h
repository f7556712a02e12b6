// SPDX-License-Identifier: Apache-2.0
// Table of the matrix product's loops, one per instruction set.
#pragma once

#include "toolkit/engine/cpu/isa.h"
#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

// c = alpha * op(a) * op(b) + beta * c, row-major; c is not read where beta
// is 0. A transposed operand's leading dimension is the stored matrix's.
template <class T>
struct Gemm {
  int64_t m;
  int64_t n;
  int64_t k;
  T alpha;
  T beta;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T* c;
  int64_t ldc;
  bool transpose_a;
  bool transpose_b;
};

// d = product + beta * c + gamma * bias over rows of n elements; in float, and
// stored in d's type. c and bias may be null. product may be d itself.
struct GemmEpilogue {
  Dtype dtype;
  int64_t n;
  int64_t ld;
  void* d;
  const void* product; // of the type that sums are made in
  const void* c;
  const void* bias;
  double beta;
  double gamma;
};

struct GemmKernels {
  void (*gemm_double)(const Gemm<double>& call);
  // Integers wrap, as the device's do: sums of unsigned ones.
  void (*gemm_uint64)(const Gemm<uint64_t>& call);
  void (*dot)(Dtype dtype, void* out, const void* l, const void* r, int64_t n);
  // Elements [begin, end) to float.
  void (*to_float)(
      Dtype dtype,
      float* out,
      const void* in,
      int64_t begin,
      int64_t end);
  void (*round_tf32)(float* out, const float* in, int64_t begin, int64_t end);
  // Rows [begin, end).
  void (*epilogue)(const GemmEpilogue& job, int64_t begin, int64_t end);
};

MUSA_ISA_DECLARE(GemmKernels, kGemmKernels);

} // namespace musa_standin::engine::cpu
