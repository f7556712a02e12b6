// SPDX-License-Identifier: Apache-2.0
// FLAGOS_BUILD_KERNELS=OFF: complex numbers are the CPU's.
#include "csrc/ops/complex.h"

#include <c10/util/Exception.h>

namespace torch_fl::ops {

bool computes_complex(
    at::TensorIteratorBase& /*iter*/,
    at::ScalarType /*type*/) {
  return false;
}

void compute_complex(
    at::TensorIteratorBase& /*iter*/,
    at::ScalarType /*type*/,
    ComplexOp /*op*/,
    const at::Scalar& /*alpha*/) {
  TORCH_INTERNAL_ASSERT(false, "no device kernels are built");
}

void compute_complex(
    at::TensorIteratorBase& /*iter*/,
    at::ScalarType /*type*/,
    ComplexTo /*op*/) {
  TORCH_INTERNAL_ASSERT(false, "no device kernels are built");
}

} // namespace torch_fl::ops
