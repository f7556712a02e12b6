// SPDX-License-Identifier: Apache-2.0
// The common folds, in packs.
#include "toolkit/engine/cuda/reduce_fold.cuh"

namespace musa_standin::engine::cuda {
namespace {

template <class T, class C, class F>
ReduceKernels of() {
  return reduce_kernels<FoldOp<F, C>, PackedSource<T>>();
}

template <class T>
ReduceKernels real(Fold fold) {
  switch (fold) {
  case Fold::kSum:
    return of<T, float, kernels::FoldSum>();
  case Fold::kSumSquare:
    return of<T, float, kernels::FoldSumSquare>();
  case Fold::kMax:
    return of<T, float, kernels::FoldMax>();
  case Fold::kMin:
    return of<T, float, kernels::FoldMin>();
  default:
    return {};
  }
}

ReduceKernels truth(Fold fold) {
  switch (fold) {
  case Fold::kSum:
    return of<kernels::Bool, int64_t, kernels::FoldSum>();
  case Fold::kAnd:
    return of<kernels::Bool, int64_t, kernels::FoldAnd>();
  case Fold::kOr:
    return of<kernels::Bool, int64_t, kernels::FoldOr>();
  default:
    return {};
  }
}

} // namespace

ReduceKernels packed_fold_kernels(Fold fold, Dtype dtype) {
  const bool sum = fold == Fold::kSum;
  switch (dtype) {
  case Dtype::kFloat:
    return real<float>(fold);
  case Dtype::kHalf:
    return real<kernels::Half>(fold);
  case Dtype::kBfloat16:
    return real<kernels::Bfloat16>(fold);
  case Dtype::kDouble:
    return sum ? of<double, double, kernels::FoldSum>() : ReduceKernels{};
  case Dtype::kInt64:
    return sum ? of<int64_t, int64_t, kernels::FoldSum>() : ReduceKernels{};
  case Dtype::kInt32:
    return sum ? of<int32_t, int64_t, kernels::FoldSum>() : ReduceKernels{};
  case Dtype::kBool:
    return truth(fold);
  default:
    return {};
  }
}

} // namespace musa_standin::engine::cuda
