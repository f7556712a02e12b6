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
