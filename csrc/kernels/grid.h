// SPDX-License-Identifier: Apache-2.0
// Images sampled at the points of a grid, and both gradients.
#pragma once

#include "csrc/kernels/image.h"

#include <musa_runtime.h>

enum FlGridMode : int32_t { kFlGridLinear, kFlGridNearest, kFlGridCubic };
enum FlGridPadding : int32_t { kFlGridZeros, kFlGridBorder, kFlGridReflection };

// Points in [-1, 1]: x, y and, of rank 3, z; of the image's type. Strides of
// batch, depth, height, width, coordinate.
struct FlGrid {
  void* address;
  int64_t strides[5];
  int32_t rank; // 2 or 3; cubic in 2 alone
  FlGridMode mode;
  FlGridPadding padding;
  int32_t align_corners;
};

// Floating types, all.
FL_KERNEL_API musaError_t fl_grid_sample(
    FlKernelType type,
    const FlImage* out,
    const FlImage* in,
    const FlGrid* grid,
    musaStream_t stream);

// gradient: as the grid, of the same sizes.
FL_KERNEL_API musaError_t fl_grid_gradient(
    FlKernelType type,
    const FlGrid* gradient,
    const FlImage* grad_out,
    const FlImage* in,
    const FlGrid* grid,
    musaStream_t stream);

// The gradient of the image without atomics, so that it repeats: a point has a
// number of taps; of each the key is its pixel's number (batch included), or
// the number of pixels for one that lies outside. The caller sorts the keys,
// and each pixel then sums the taps that are its own.
FL_KERNEL_API int32_t fl_grid_tap_count(const FlGrid* grid);
// keys, weights: points x taps; weights of DOUBLE for DOUBLE, else of FLOAT.
FL_KERNEL_API musaError_t fl_grid_taps(
    FlKernelType type,
    int64_t* keys,
    void* weights,
    const FlImage* grad_out,
    const FlImage* in,
    const FlGrid* grid,
    musaStream_t stream);
// starts[p] = how many of n sorted keys are below p, for p in [0, pixels].
FL_KERNEL_API musaError_t fl_grid_starts(
    int64_t* starts,
    int64_t pixels,
    const int64_t* sorted,
    int64_t n,
    musaStream_t stream);
FL_KERNEL_API musaError_t fl_grid_sum(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const int64_t* starts,
    const int64_t* order,
    const void* weights,
    int32_t taps,
    musaStream_t stream);
