// SPDX-License-Identifier: Apache-2.0
// Bits of integers: muDNN has no class for them.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

enum FlBits : int32_t {
  kFlBitsAnd,
  kFlBitsOr,
  kFlBitsXor,
  kFlBitsShiftLeft,
  kFlBitsShiftRight,
};

// out = left op right; all three of `type`, which is integral or BOOL (no
// shifts of BOOL). A shift by a negative count, or by as many bits as there
// are, gives 0, or -1 for a negative number shifted right, as on the CPU.
// musaErrorInvalidValue for another type.
FL_KERNEL_API musaError_t fl_bits_binary(
    FlBits op,
    FlKernelType type,
    const FlOperands* operands,
    musaStream_t stream);

// out = ~in; of BOOL: not in.
FL_KERNEL_API musaError_t
fl_bits_not(FlKernelType type, const FlOperands* operands, musaStream_t stream);
