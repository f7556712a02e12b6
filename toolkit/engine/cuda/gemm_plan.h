// SPDX-License-Identifier: Apache-2.0
// How cuBLASLt does a matrix product: descriptors and algorithm, kept by what
// they depend on.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>

namespace musa_standin::engine::cuda {

// Everything a plan depends on, in cuBLASLt's terms: column-major matrices
// without gaps, d (m x n) = op(a) op(b).
struct GemmKey {
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t batch;
  int32_t device;
  uint8_t dtype; // of engine::Dtype, a floating one
  uint8_t tf32;
  uint8_t transpose_a;
  uint8_t transpose_b;
  uint8_t one_a; // one matrix serves every batch
  uint8_t one_b;
  uint8_t bias;
  uint8_t align_a; // log2 of the address's alignment, at most 8
  uint8_t align_b;
  uint8_t align_c;
  uint8_t align_d;
  uint8_t unused; // 0
};

struct GemmPlan {
  cublasLtMatmulDescOpaque_t product;
  cublasLtMatrixLayoutOpaque_t a;
  cublasLtMatrixLayoutOpaque_t b;
  cublasLtMatrixLayoutOpaque_t d; // c's too
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace_bytes;
  bool has_bias; // false where the key asks for one: add it apart
  bool is_double;
};

// The calling thread's, made at first use; for one call at a time. Throws
// musaErrorNotSupported for what cuBLASLt lacks.
GemmPlan& gemm_plan(const GemmKey& key);

// The device's handle, which all threads share.
cublasLtHandle_t gemm_handle(int device);

} // namespace musa_standin::engine::cuda
