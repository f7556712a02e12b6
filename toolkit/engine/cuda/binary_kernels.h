// SPDX-License-Identifier: Apache-2.0
// Tables of the kernels of two and three operands; a file for each group of
// modes.
#pragma once

#include "toolkit/engine/cuda/elementwise.h"
#include "toolkit/engine/dnn_types.h"

namespace musa_standin::engine::cuda {

constexpr int kBinaryModes = static_cast<int>(BinaryMode::kSquaredDiff) + 1;
constexpr int kTernaryModes = static_cast<int>(TernaryMode::kClamp) + 1;

// Null where a mode has no meaning for the type. Dense: FLOAT, HALF and
// BFLOAT16 on both sides.
struct BinaryTable {
  struct Row {
    DenseKernel<2> dense[3];
    StridedKernel<2> strided[kComputeTypes];
  };
  Row rows[kBinaryModes];
};

void add_binary_arithmetic(BinaryTable& table);
void add_binary_gradients(BinaryTable& table);
void add_binary_tests(BinaryTable& table);

struct TernaryTable {
  struct Row {
    DenseKernel<3> dense[3];
    StridedKernel<3> strided[kComputeTypes];
  };
  Row rows[kTernaryModes];
  // A choice by truth values between elements of 1, 2, 4 and 8 bytes.
  DenseKernel<3> select_dense[4];
  StridedKernel<3> select_strided[4];
};
const TernaryTable& ternary_table();

} // namespace musa_standin::engine::cuda
