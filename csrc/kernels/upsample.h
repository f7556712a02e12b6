// SPDX-License-Identifier: Apache-2.0
// Images resized in up to three dimensions. The toolkit knows no Interpolate,
// and of the vendor's the backward modes are in doubt.
#pragma once

#include "csrc/kernels/image.h"

#include <musa_runtime.h>

enum FlSampleKind : int32_t {
  kFlNearest,
  kFlNearestExact,
  kFlLinear,
  kFlCubic, // height and width
};

// Steps in the input per step of the output, for depth, height and width; a
// dimension that is not there has size 1 on both sides.
struct FlSampling {
  FlSampleKind kind;
  int32_t align_corners;
  double scale[3];
};

// Floating types; the nearest ones any type.
FL_KERNEL_API musaError_t fl_upsample(
    FlKernelType type,
    const FlImage* out,
    const FlImage* in,
    const FlSampling* sampling,
    musaStream_t stream);
// Each input gathers what the outputs that read it have, so that results
// repeat. Floating types.
FL_KERNEL_API musaError_t fl_upsample_backward(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const FlSampling* sampling,
    musaStream_t stream);

enum FlFilterKind : int32_t { kFlTriangle, kFlCubicFilter, kFlLanczos };

// One dimension (0 depth, 1 height, 2 width) resized by a filter that widens
// where the image shrinks, so that nothing is skipped.
struct FlFilter {
  FlFilterKind kind;
  int32_t axis;
  double scale;
};
FL_KERNEL_API musaError_t fl_filter(
    FlKernelType type,
    const FlImage* out,
    const FlImage* in,
    const FlFilter* filter,
    musaStream_t stream);
FL_KERNEL_API musaError_t fl_filter_backward(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const FlFilter* filter,
    musaStream_t stream);
