// SPDX-License-Identifier: Apache-2.0
// A convolution pass in oneDNN's terms.
#pragma once

#include "toolkit/engine/cpu/conv_plan.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace musa_standin::engine::cpu {

// Operands in the order in, filter, out.
struct ConvDescs {
  dnnl::memory::desc outside[3]; // as the caller has them
  dnnl::memory::desc inside[3];  // as oneDNN wants them
  dnnl::memory::desc scratch;
  dnnl::primitive primitive;
};

// oneDNN's engine, one for the process.
dnnl::engine& onednn();

// Throws dnnl::error.
ConvDescs conv_descs(const ConvShape& shape);

} // namespace musa_standin::engine::cpu
