// SPDX-License-Identifier: Apache-2.0
// Copies that leave elements out or turn their order round: muDNN has no class
// for them.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

// out = in on and below (lower) or above the diagonal of each matrix, zero
// elsewhere. Operands: out and in, which may be the same; dims[0] are columns,
// dims[1] rows, the rest matrices; rank is at least 2. `size`: bytes of an
// element, 1, 2, 4, 8 or 16, else musaErrorInvalidValue.
struct FlKeep {
  int64_t diagonal;
  int32_t lower;
  int32_t size;
};
FL_KERNEL_API musaError_t fl_keep_triangle(
    const FlOperands* operands,
    const FlKeep* keep,
    musaStream_t stream);

// out = in, by their strides, which may be negative. `size` as above.
FL_KERNEL_API musaError_t
fl_copy_strided(const FlOperands* operands, int32_t size, musaStream_t stream);
