// SPDX-License-Identifier: Apache-2.0
// Bytes of workspace that families want where several blocks make parts of a
// result. Fewer are enough for all of them, none too.
#pragma once

#include "toolkit/engine/dnn_types.h"

#include <cstddef>

namespace musa_standin::engine::cuda {

size_t reduce_bytes(const View& in);
size_t cum_bytes(const View& in);
size_t batch_norm_bytes(const View& in);
size_t layer_norm_backward_bytes(const View& in);
size_t nll_loss_bytes(const View& target);

} // namespace musa_standin::engine::cuda
