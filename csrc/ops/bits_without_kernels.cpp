// SPDX-License-Identifier: Apache-2.0
// FLAGOS_BUILD_KERNELS=OFF: bits of integers are the CPU's.
#include "csrc/ops/bits.h"

#include <c10/util/Exception.h>

namespace torch_fl::ops {

bool computes_bits(at::TensorIteratorBase& /*iter*/) {
  return false;
}

void binary_bits(at::TensorIteratorBase& /*iter*/, Bits /*op*/) {
  TORCH_INTERNAL_ASSERT(false, "no device kernels are built");
}

void not_bits(at::TensorIteratorBase& /*iter*/) {
  TORCH_INTERNAL_ASSERT(false, "no device kernels are built");
}

} // namespace torch_fl::ops
