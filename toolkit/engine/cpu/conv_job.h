// SPDX-License-Identifier: Apache-2.0
// A convolution call on the CPU engine.
#pragma once

#include "toolkit/engine/cpu/conv_finish.h"
#include "toolkit/engine/cpu/conv_plan.h"
#include "toolkit/engine/cpu/gemm_kernels.h"
#include "toolkit/engine/dnn_types.h"

#include <cstddef>

namespace musa_standin::engine::cpu {

// What a task keeps; device addresses.
struct ConvJob {
  ConvShape shape{};
  Dtype dtype = Dtype::kFloat;
  bool tf32 = false;
  ConvFinish finish;
  char* in = nullptr;
  char* filter = nullptr;
  char* out = nullptr;
  char* workspace = nullptr; // of conv_workspace_bytes
  const GemmKernels* kernels = nullptr;
};

size_t conv_workspace_bytes(const ConvShape& shape, Dtype dtype, bool tf32);

// On an engine thread.
void run_convolution(const ConvJob& job);

} // namespace musa_standin::engine::cpu
