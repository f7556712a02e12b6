// SPDX-License-Identifier: Apache-2.0
// Error codes of CUDA and of MUSA, both ways.
#pragma once

#include "toolkit/include/driver_types.h"

#include <cuda_runtime_api.h>

namespace musa_standin::engine::cuda {

// musaErrorUnknown for a code that the table does not hold.
musaError_t musa_error(cudaError_t code) noexcept;
// cudaErrorUnknown for a code that CUDA does not have.
cudaError_t cuda_error(musaError_t code) noexcept;

} // namespace musa_standin::engine::cuda
