// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's operator families: the one object, who wants workspace,
// and planned failure.
#include "toolkit/engine/cuda/dnn.h"

#include "toolkit/engine/cuda/device_error.h"
#include "toolkit/engine/cuda/select.h"
#include "toolkit/engine/cuda/sort_job.h"
#include "toolkit/engine/cuda/workspace.h"

namespace musa_standin::engine {

Dnn& dnn() {
  static cuda::CudaDnn instance;
  return instance;
}

namespace cuda {

size_t CudaDnn::workspace_bytes(Family family, const View& in) {
  switch (family) {
  case Family::kReduce:
    return reduce_bytes(in);
  case Family::kCum:
    return cum_bytes(in);
  case Family::kBatchNorm:
  case Family::kBatchNormBackward:
    return batch_norm_bytes(in);
  case Family::kLayerNormBackward:
    return layer_norm_backward_bytes(in);
  case Family::kNllLoss:
    return nll_loss_bytes(in);
  case Family::kSort:
    return sort_workspace_bytes(in);
  case Family::kTopk:
    return topk_workspace_bytes(in);
  case Family::kNonzero:
  case Family::kMaskedSelect:
    return select_workspace_bytes(in);
  default:
    return 0;
  }
}

void CudaDnn::fail(Stream& stream, musaError_t code, const char* name) {
  enqueue_failure(stream, code, name);
}

} // namespace cuda

} // namespace musa_standin::engine
