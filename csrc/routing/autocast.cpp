// SPDX-License-Identifier: Apache-2.0
// Autocast: the lists of the torch at hand say which operators run in the lower
// precision, in float, or in the widest of their inputs; all others fall
// through.
#include "csrc/runtime/torch_version.h"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include <optional>

namespace {

// Names that torch's lists use.
using at::IntArrayRef;
using at::Scalar;
using at::ScalarType;
using at::Tensor;
#if !FL_TORCH_GE(2, 13)
using at::DimnameList;
#endif

Tensor refuse_binary_cross_entropy(
    const Tensor& /*self*/,
    const Tensor& /*target*/,
    const std::optional<Tensor>& /*weight*/,
    int64_t /*reduction*/) {
  TORCH_CHECK(
      false,
      "binary_cross_entropy (and torch.nn.BCELoss) is unsafe to autocast: its "
      "gradient may not fit the lower precision. Use "
      "binary_cross_entropy_with_logits (torch.nn.BCEWithLogitsLoss), or call "
      "it in a region with autocast disabled and float inputs.");
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

// torch's macros register on a library named m.
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define FL_LOWER_PRECISION(...) \
  KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FL_FLOAT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define FL_FLOAT_BY_DTYPE(...) \
  KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define FL_WIDEST(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(FL_LOWER_PRECISION)
  AT_FORALL_FP32(FL_FLOAT)
  AT_FORALL_FP32_SET_OPT_DTYPE(FL_FLOAT_BY_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(
      KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(FL_WIDEST)
#undef FL_LOWER_PRECISION
#undef FL_FLOAT
#undef FL_FLOAT_BY_DTYPE
#undef FL_WIDEST
  m.impl("binary_cross_entropy", TORCH_FN(refuse_binary_cross_entropy));
}

} // namespace
