// SPDX-License-Identifier: Apache-2.0
// Folds of any element type, one element at a time.
#include "toolkit/engine/cuda/reduce_fold.cuh"

namespace musa_standin::engine::cuda {
namespace {

template <class C, class F>
ReduceKernels of() {
  return reduce_kernels<FoldOp<F, C>, AnySource>();
}

// What all numbers have.
template <class C>
ReduceKernels number(Fold fold) {
  switch (fold) {
  case Fold::kSum:
    return of<C, kernels::FoldSum>();
  case Fold::kProduct:
    return of<C, kernels::FoldProduct>();
  case Fold::kProductNonzero:
    return of<C, kernels::FoldProductNonzero>();
  case Fold::kMax:
    return of<C, kernels::FoldMax>();
  case Fold::kMin:
    return of<C, kernels::FoldMin>();
  default:
    return {};
  }
}

template <class C>
ReduceKernels real(Fold fold) {
  switch (fold) {
  case Fold::kSumAbs:
    return of<C, kernels::FoldSumAbs>();
  case Fold::kSumSquare:
    return of<C, kernels::FoldSumSquare>();
  case Fold::kSumPower:
    return of<C, kernels::FoldSumPower>();
  default:
    return number<C>(fold);
  }
}

ReduceKernels whole(Fold fold) {
  switch (fold) {
  case Fold::kAnd:
    return of<int64_t, kernels::FoldAnd>();
  case Fold::kOr:
    return of<int64_t, kernels::FoldOr>();
  default:
    return number<int64_t>(fold);
  }
}

} // namespace

ReduceKernels fold_kernels(Fold fold, FoldType type) {
  switch (type) {
  case FoldType::kFloat:
    return real<float>(fold);
  case FoldType::kDouble:
    return real<double>(fold);
  default:
    return whole(fold);
  }
}

} // namespace musa_standin::engine::cuda
