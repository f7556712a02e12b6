// SPDX-License-Identifier: Apache-2.0
// Table of the kernels of one operand; a file for each group of modes.
#pragma once

#include "toolkit/engine/cuda/elementwise.h"
#include "toolkit/engine/dnn_types.h"

namespace musa_standin::engine::cuda {

constexpr int kUnaryModes = static_cast<int>(UnaryMode::kCast) + 1;
// Powers with short forms.
constexpr int kUnaryCube = kUnaryModes;
constexpr int kUnaryReciprocalSquare = kUnaryModes + 1;
// FLOAT, HALF, BFLOAT16 have dense kernels.
constexpr int kDenseTypes = 3;

// Null where a mode has no meaning for the type.
struct UnaryTable {
  struct Row {
    DenseKernel<1> dense[kDenseTypes];
    StridedKernel<1> strided[kComputeTypes];
  };
  Row rows[kUnaryModes + 2];
};

void add_unary_activations(UnaryTable& table);
void add_unary_functions(UnaryTable& table);
void add_unary_numbers(UnaryTable& table);
void add_unary_tests(UnaryTable& table);

// By what the conversion goes through, and by FLOAT, HALF and BFLOAT16; null
// for dense conversions that the strided kernels make too.
struct CastTable {
  DenseKernel<1> dense[kDenseTypes][kDenseTypes]; // [out][in]
  StridedKernel<1> strided[kComputeTypes];
};
const CastTable& cast_table();

} // namespace musa_standin::engine::cuda
