// SPDX-License-Identifier: Apache-2.0
// FLAGOS_BUILD_KERNELS=OFF: what muDNN does in several calls.
#include "csrc/ops/fused.h"

#include <c10/util/Exception.h>

namespace torch_fl::ops {

bool fuses(at::TensorIteratorBase& /*iter*/, at::ScalarType /*type*/) {
  return false;
}
bool fuses_dense() {
  return false;
}

void fuse(
    at::TensorIteratorBase& /*iter*/,
    at::ScalarType /*type*/,
    Fused /*op*/,
    const at::Scalar& /*number*/) {
  TORCH_INTERNAL_ASSERT(false, "no device kernels are built");
}
void fuse(
    const mudnn::Operands& /*dense*/,
    Fused /*op*/,
    const at::Scalar& /*number*/) {
  TORCH_INTERNAL_ASSERT(false, "no device kernels are built");
}

} // namespace torch_fl::ops
