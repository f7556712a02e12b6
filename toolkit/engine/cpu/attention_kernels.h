// SPDX-License-Identifier: Apache-2.0
// Table of the attention loops between matrix products, one per instruction
// set.
#pragma once

#include "toolkit/engine/cpu/isa.h"
#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

// Rows of `width` elements, [N, H, L] of them, by strides.
struct AttentionRows {
  Dtype dtype;
  char* address; // the host's
  int64_t dims[4];
  int64_t strides[4];
};

// Scores of some rows and keys: rows of `keys` floats, `ld` apart.
struct AttentionBlock {
  float* scores;
  int64_t rows;
  int64_t keys;
  int64_t ld;
};

// The mask's elements of a block; null: no mask.
struct AttentionMask {
  Dtype dtype;
  const char* address;
  int64_t row_stride;
  int64_t key_stride;
};

struct AttentionKernels {
  // Rows [begin, end) to dense floats; `to` begins with row 0.
  void (
      *load)(const AttentionRows& rows, float* to, int64_t begin, int64_t end);
  // The other way round: `from` begins with row `begin`.
  void (*store)(
      const AttentionRows& rows,
      const float* from,
      int64_t begin,
      int64_t end);
  void (*mask)(const AttentionBlock& block, const AttentionMask& mask);
  // Scores become exp(score - maximum); maxima, sums and the rows of `out` so
  // far (depth floats each) follow the new maximum.
  void (*accumulate)(
      const AttentionBlock& block,
      float* maxima,
      float* sums,
      float* out,
      int64_t depth);
  // out /= sum, sums become the logarithms of the sums.
  void (*finish)(
      const float* maxima,
      float* sums,
      float* out,
      int64_t rows,
      int64_t depth);
  // Scores become weights, by the logarithms of the rows' sums.
  void (*weights)(const AttentionBlock& block, const float* log_sums);
  // The gradient of the weights becomes that of the products: weight *
  // (gradient - delta of the row) * scale.
  void (*gradient)(
      const AttentionBlock& gradient,
      const float* weights,
      const float* deltas,
      float scale);
  // deltas[i] = the dot product of rows i, of `width` floats.
  void (*dots)(
      const float* a,
      const float* b,
      float* deltas,
      int64_t rows,
      int64_t width);
};

MUSA_ISA_DECLARE(AttentionKernels, kAttentionKernels);

} // namespace musa_standin::engine::cpu
