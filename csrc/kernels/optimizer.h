// SPDX-License-Identifier: Apache-2.0
// Optimizer steps in one pass over parameters, gradients and states, and the
// two kernels of a gradient scaler.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

// What all steps take. Pointers are device memory and may be null: `rate`, one
// float or double of `type`'s precision (else learning_rate counts), a
// gradient scaler's scale (gradients are divided by it, in memory too), and
// found_inf (the step is left out if it is 1).
struct FlStep {
  double learning_rate;
  double weight_decay;
  const void* rate;
  const float* grad_scale;
  const float* found_inf;
  int32_t rate_is_double;
  int32_t maximize;
};

// Lists: parameters, gradients, first moments, second moments and, if amsgrad,
// their maxima. corrections: two floats a tensor, from fl_adam_corrections.
struct FlAdam {
  FlStep step;
  double beta1;
  double beta2;
  double epsilon;
  const float* corrections;
  int32_t amsgrad;
  int32_t decoupled; // AdamW's weight decay
};
// `type`: HALF, BFLOAT16, FLOAT or DOUBLE, of every list; else
// musaErrorInvalidValue.
FL_KERNEL_API musaError_t fl_adam(
    FlKernelType type,
    const FlTensors* lists,
    const FlAdam* adam,
    musaStream_t stream);
// List 0: a FLOAT step count a tensor. out: 1 - beta1^step and
// sqrt(1 - beta2^step) of each.
FL_KERNEL_API musaError_t fl_adam_corrections(
    const FlTensors* steps,
    double beta1,
    double beta2,
    float* out,
    musaStream_t stream);

// Lists: parameters, gradients and, if momentum is not 0, buffers.
struct FlSgd {
  FlStep step;
  double momentum;
  double dampening;
  int32_t nesterov;
  int32_t first; // the buffers hold nothing yet
};
FL_KERNEL_API musaError_t fl_sgd(
    FlKernelType type,
    const FlTensors* lists,
    const FlSgd* sgd,
    musaStream_t stream);

// Lists: parameters, gradients, sums, and FLOAT step counts.
struct FlAdagrad {
  FlStep step;
  double rate_decay;
  double epsilon;
};
FL_KERNEL_API musaError_t fl_adagrad(
    FlKernelType type,
    const FlTensors* lists,
    const FlAdagrad* adagrad,
    musaStream_t stream);

// Multiplies list 0 by *inv_scale; *found_inf becomes 1 if an element was not
// finite before.
FL_KERNEL_API musaError_t fl_unscale(
    FlKernelType type,
    const FlTensors* lists,
    float* found_inf,
    const float* inv_scale,
    musaStream_t stream);

// A gradient scaler's next scale: times `backoff` where found_inf is 1, else
// times `growth` after `interval` steps without one, unless that is infinite.
FL_KERNEL_API musaError_t fl_update_scale(
    float* scale,
    int32_t* growth_tracker,
    const float* found_inf,
    double growth,
    double backoff,
    int32_t interval,
    musaStream_t stream);
