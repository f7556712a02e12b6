// SPDX-License-Identifier: Apache-2.0
// Which engine this library's kernels run on: the loader compares it with the
// toolkit's.
#include "csrc/kernels/operands.h"

FL_KERNEL_API const char* fl_kernels_target();

const char* fl_kernels_target() {
#if defined(MUSA_PORTABLE_HOST)
  return "cpu";
#elif defined(MUSA_PORTABLE_CUDA)
  return "cuda";
#else
  return "vendor";
#endif
}
