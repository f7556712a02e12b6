// SPDX-License-Identifier: Apache-2.0
// Pooling in up to three dimensions: for ranks, windows and dtypes that muDNN's
// Pooling lacks.
#pragma once

#include "csrc/kernels/image.h"

#include <musa_runtime.h>

enum FlWindowKind : int32_t {
  kFlSteppedWindows,    // kernel, stride, padding, dilation
  kFlAdaptiveWindows,   // from the sizes of both sides
  kFlFractionalWindows, // kernel, and a sample in [0, 1) for each dimension
};

// Of depth, height and width; what a dimension that is not there has is 1, its
// padding 0.
struct FlWindows {
  FlWindowKind kind;
  int32_t kernel[3];
  int32_t stride[3];
  int32_t padding[3];
  int32_t dilation[3];
  // Averages: padding counts as elements; divisor 0 is their number.
  int32_t count_padding;
  int64_t divisor;
};

// The largest element of each window and its position in the image of its
// channel; a NaN is larger than all, the last one counts. Types: all but BOOL.
// samples: dense [batch, channels, spatial] of `type`, for fractional windows.
FL_KERNEL_API musaError_t fl_max_pool(
    FlKernelType type,
    const FlImage* out,
    const FlImage* indices,
    const FlImage* in,
    const FlWindows* windows,
    musaStream_t stream);
FL_KERNEL_API musaError_t fl_fractional_max_pool(
    FlKernelType type,
    const FlImage* out,
    const FlImage* indices,
    const FlImage* in,
    const void* samples,
    int32_t spatial,
    const FlWindows* windows,
    musaStream_t stream);

// Each input sums what the windows that chose it have; no atomics, so that
// results repeat. Floating types.
FL_KERNEL_API musaError_t fl_max_pool_backward(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const FlImage* indices,
    const FlWindows* windows,
    musaStream_t stream);

// Floating types and INT64.
FL_KERNEL_API musaError_t fl_average_pool(
    FlKernelType type,
    const FlImage* out,
    const FlImage* in,
    const FlWindows* windows,
    musaStream_t stream);
FL_KERNEL_API musaError_t fl_average_pool_backward(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const FlWindows* windows,
    musaStream_t stream);
