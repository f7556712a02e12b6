// SPDX-License-Identifier: Apache-2.0
// Tables of the elementwise loops and of the conversions around them, one per
// instruction set.
//
// Every mode is computed in one of four types; what else an operand is, is
// converted on the way in and out, a block at a time. So there are modes × 4
// loops and types × 4 conversions, not modes × types × types.
#pragma once

#include "toolkit/engine/cpu/isa.h"

#include <cstdint>

namespace musa_standin::engine::cpu {

// FLOAT, HALF, BFLOAT16; DOUBLE; integers; truth values; and bytes that are
// only moved, of whatever type.
enum Compute : uint8_t {
  kF32,
  kF64,
  kI64,
  kU8,
  kComputeTypes,
  kRaw1 = kComputeTypes,
  kRaw2,
  kRaw4,
  kRaw8,
};
constexpr int kUnaryModes = 67;
constexpr int kBinaryModes = 35;
constexpr int kTernaryModes = 7;
constexpr int kConvertible = 13; // Dtype kFloat to kBool

// alpha and beta, as every compute type wants them.
struct Params {
  double real[2];
  int64_t whole[2];
};

// n elements. Tests write bytes, all else the compute type. An input may be
// the output, not overlap it otherwise.
using MapFn =
    void (*)(void* out, const void* const* in, int64_t n, const Params& params);
// n elements from a stride (in elements) into a dense block of the compute
// type, and back.
using LoadFn =
    void (*)(void* block, const void* from, int64_t n, int64_t stride);
using StoreFn =
    void (*)(void* to, const void* block, int64_t n, int64_t stride);

// Null where a mode has no meaning for the type.
struct UnaryKernels {
  MapFn map[kComputeTypes][kUnaryModes];
};
struct BinaryKernels {
  MapFn map[kComputeTypes][kBinaryModes];
};
struct TernaryKernels {
  MapFn map[kComputeTypes][kTernaryModes];
  // A choice by bytes between elements of 1, 2, 4 and 8 bytes.
  MapFn select[4];
};
struct ConvertKernels {
  LoadFn load[kComputeTypes][kConvertible];
  StoreFn store[kComputeTypes][kConvertible];
  // Elements of 1, 2, 4 and 8 bytes as they are.
  LoadFn gather[4];
  StoreFn scatter[4];
};

MUSA_ISA_DECLARE(UnaryKernels, kUnaryKernels);
MUSA_ISA_DECLARE(BinaryKernels, kBinaryKernels);
MUSA_ISA_DECLARE(TernaryKernels, kTernaryKernels);
MUSA_ISA_DECLARE(ConvertKernels, kConvertKernels);

} // namespace musa_standin::engine::cpu
