// SPDX-License-Identifier: Apache-2.0
// Kernels of our own beside cuBLASLt's products: integers, what is added to a
// result, and the dot product.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include <cstddef>
#include <cstdint>

namespace musa_standin::engine {
class Stream;
}

namespace musa_standin::engine::cuda {

// d = alpha * op(a) * op(b) + beta * c + gamma * bias in wrapping integers;
// dense row-major batches, `step` elements apart (0: one for all). c and bias
// may be null, c may be d.
struct IntegerGemm {
  int64_t batch;
  int64_t m;
  int64_t n;
  int64_t k;
  const uint64_t* a;
  const uint64_t* b;
  const uint64_t* c;
  const uint64_t* bias;
  uint64_t* d;
  int64_t a_step;
  int64_t b_step;
  uint64_t alpha;
  uint64_t beta;
  uint64_t gamma;
  bool transpose_a;
  bool transpose_b;
};
void integer_gemm(Stream& stream, const IntegerGemm& g);

// d = alpha * a * b + beta * c + gamma * bias of FLOAT, HALF or BFLOAT16,
// summed in float; a's and b's elements by strides, the others row-major. c and
// bias may be null, c may be d.
struct SmallGemm {
  Dtype dtype;
  int32_t m;
  int32_t n;
  int32_t k;
  const void* a;
  const void* b;
  const void* c;
  const void* bias;
  void* d;
  int32_t a_row;
  int32_t a_column;
  int32_t b_row;
  int32_t b_column;
  float alpha;
  float beta;
  float gamma;
};
// Up to here one is made sooner than cuBLASLt's is enqueued.
constexpr int64_t kSmallOutputs = 1024;
constexpr int64_t kSmallDepth = 64;
void small_gemm(Stream& stream, const SmallGemm& g);

// d = beta * c + gamma * bias over rows of n elements, floating; c (may be d)
// and bias may be null.
struct GemmAddends {
  Dtype dtype;
  int64_t rows;
  int64_t n;
  const void* c;
  const void* bias;
  void* d;
  double beta;
  double gamma;
};
void add_to_gemm(Stream& stream, const GemmAddends& g);

} // namespace musa_standin::engine::cuda
