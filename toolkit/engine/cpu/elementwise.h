// SPDX-License-Identifier: Apache-2.0
// Runs a table's loop over operands of any type and any strides.
#pragma once

#include "toolkit/engine/cpu/elementwise_kernels.h"
#include "toolkit/engine/dnn_types.h"

#include <cstdint>

namespace musa_standin::engine {
class Stream;
}

namespace musa_standin::engine::cpu {

constexpr int kMaxOperands = 4;
// Elements of a block: four blocks of eight bytes each stay in the first
// cache.
constexpr int64_t kBlock = 512;
// Fewer elements than this are not worth a second thread.
constexpr int64_t kElementGrain = 16384;

// Operands: the output first. Addresses are the caller's until a task
// translates them.
struct ElementLoop {
  MapFn map;
  StoreFn store;
  LoadFn load[kMaxOperands];
  char* address[kMaxOperands];
  Params params;
  int64_t numel;
  int32_t operands;
  // Bit i: operand i is of the type that the loop computes in.
  uint32_t direct;
  uint8_t bytes[kMaxOperands];
  uint8_t block_bytes[kMaxOperands];
};

// Sizes and strides (in elements), outermost first.
struct ElementNest {
  int32_t rank;
  int64_t dims[kMaxRank];
  int64_t strides[kMaxOperands][kMaxRank];
};

// Drops extents of one, orders the others by the output's strides and merges
// what lies in one piece for all operands.
void collapse(ElementNest& nest, int operands);

// views: the output and its inputs, of equal sizes; computes[i] is what the
// loop reads or writes. Enqueues.
void run_elementwise(
    engine::Stream& stream,
    const char* name,
    MapFn map,
    const Params& params,
    const View* const* views,
    const Compute* computes,
    int operands);

const ConvertKernels& convert_kernels();

LoadFn load_of(Dtype type, Compute compute);
StoreFn store_of(Dtype type, Compute compute);

// What a loop computes in for an operand of this type.
Compute compute_of(Dtype type);
// Bytes of the type's size, only moved.
Compute raw_of(Dtype type);

// The caller's eight bytes as a number of an integral type, or a truth value.
int64_t whole_of(Dtype type, Scalar value);
// Parameters of a mode whose operand is of this type.
Params params_of(Dtype type, Scalar alpha, Scalar beta);

} // namespace musa_standin::engine::cpu
