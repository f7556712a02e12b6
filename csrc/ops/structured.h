// SPDX-License-Identifier: Apache-2.0
// One template turns a structured class of torch (or one derived from
// at::meta::structured_x) into its functional, in-place and out= forms.
//
//   struct Mul : at::meta::structured_mul_Tensor {
//     void impl(const Tensor& self, const Tensor& other, const Tensor& out);
//   };
//   structured<Mul>(registrar, "mul.Tensor", "mul_.Tensor", "mul.out");
//
// What an Op may add:
//   bool accepts(meta's arguments...)   asked after meta; false sends the call
//       to the counted CPU fallback (a dtype that muDNN refuses)
//   static bool quick(dtype, scalars...) with
//   static void kernel(const mudnn::Operands&, scalars...)
//       the quick road: equal dense operands of one dtype, or one and a Python
//       number, skip meta and TensorIterator
//   static at::ScalarType quick_result(dtype)   the result's dtype there
#pragma once

#include "csrc/ops/forms.h"

namespace torch_fl::ops {

// Registers the forms; `inplace` may be null. TORCH_FN underneath: a function
// pointer would cost a functor and an indirect call.
template <class Op>
void structured(
    routing::Registrar& registrar,
    const char* functional,
    const char* inplace,
    const char* out) {
  using F = FormsOf<Op>;
  F::names = {functional, out, inplace};
  registrar.native<&F::functional>(functional);
  if constexpr (F::kHasInplace) {
    if (inplace != nullptr) {
      registrar.native<&F::inplace>(inplace);
    }
  }
  registrar.native<&F::out>(out);
}

} // namespace torch_fl::ops
