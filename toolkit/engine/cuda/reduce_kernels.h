// SPDX-License-Identifier: Apache-2.0
// What the reductions' kernels take, and the tables of them.
#pragma once

#include "toolkit/engine/cuda/axes.h"

#include <cstdint>

namespace musa_standin::engine::cuda {

enum class Fold : uint8_t {
  kSum,
  kSumAbs,
  kSumSquare,
  kSumPower,
  kProduct,
  kProductNonzero,
  kMax,
  kMin,
  kAnd,
  kOr,
  kCount,
};
constexpr int kFolds = static_cast<int>(Fold::kCount);

// What elements are folded in: float, double or int64_t.
enum class FoldType : uint8_t { kFloat, kDouble, kWhole };

struct ReduceJob {
  const void* in;
  void* out;        // or null
  int64_t* indices; // or null
  void* partial;    // states [splits][outputs], or null: one split
  Dtype dtype;
  Dtype out_dtype;
  ReduceMode mode;
  int32_t correction;
  int32_t splits;
  float order;
  int64_t outputs;
  int64_t reduced; // elements of one output
  Axes kept;
  Axes gone;
};

using ReduceKernel = void (*)(ReduceJob job);

// Threads of a block: at most, and exactly.
constexpr int kReduceThreads = 512;
constexpr int kColumnThreads = 256;

struct ReduceKernels {
  // threadIdx.x runs over the elements of an output (in packs along the last
  // gone axis), threadIdx.y over outputs, blockIdx.y over splits.
  ReduceKernel rows;
  // threadIdx.x runs over outputs (in packs along the last kept axis),
  // threadIdx.y over the elements, blockIdx.y over splits.
  ReduceKernel columns;
  // Joins the splits.
  ReduceKernel join;
  int32_t pack;        // elements that a thread loads at once
  int32_t state_bytes; // of a partial result
};

// Of any element type that is computed in the compute type, one element at a
// time; and of one type alone, in packs. Null kernels where there are none.
ReduceKernels fold_kernels(Fold fold, FoldType type);
ReduceKernels packed_fold_kernels(Fold fold, Dtype dtype);
ReduceKernels arg_kernels(bool largest, FoldType type);
ReduceKernels packed_arg_kernels(bool largest, Dtype dtype);
ReduceKernels moment_kernels(FoldType type);
ReduceKernels packed_moment_kernels(Dtype dtype);

} // namespace musa_standin::engine::cuda
