// SPDX-License-Identifier: Apache-2.0
// Borders grown out of the image, and images cut into patches. The toolkit
// knows no Pad, and the vendor's has no backward pass.
#pragma once

#include "csrc/kernels/image.h"

#include <musa_runtime.h>

enum FlPadKind : int32_t { kFlReflect, kFlReplicate };

// Rows of padding before depth, height, width; what is after follows from the
// sizes. Negative ones cut. Reflections reach no further than the image.
struct FlPadding {
  FlPadKind kind;
  int32_t before[3];
};

// Any type.
FL_KERNEL_API musaError_t fl_pad(
    FlKernelType type,
    const FlImage* out,
    const FlImage* in,
    const FlPadding* padding,
    musaStream_t stream);
// Each input gathers, so that results repeat. Floating types.
FL_KERNEL_API musaError_t fl_pad_backward(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const FlPadding* padding,
    musaStream_t stream);

// Of height and width.
struct FlPatches {
  int32_t kernel[2];
  int32_t stride[2];
  int32_t padding[2];
  int32_t dilation[2];
};

// columns: batch, channels x kernel positions, 1, rows of patches, patches in a
// row. Any type; outside of the image is 0.
FL_KERNEL_API musaError_t fl_patches(
    FlKernelType type,
    const FlImage* columns,
    const FlImage* image,
    const FlPatches* patches,
    musaStream_t stream);
// Sums the patches that a pixel is in. Floating types.
FL_KERNEL_API musaError_t fl_patches_sum(
    FlKernelType type,
    const FlImage* image,
    const FlImage* columns,
    const FlPatches* patches,
    musaStream_t stream);
