// SPDX-License-Identifier: Apache-2.0
// What the two-dimensional poolings share: images as muDNN's Pooling takes
// them.
#pragma once

#include "csrc/mudnn/pooling.h"
#include "csrc/ops/output.h"
#include "csrc/ops/pool.h"

namespace torch_fl::ops {

// One image becomes a batch of one.
inline at::Tensor batched(const at::Tensor& t) {
  return t.dim() == 3 ? t.unsqueeze(0) : t;
}

inline at::MemoryFormat layout_of(const at::Tensor& self) {
  return self.dim() == 4 &&
          self.suggest_memory_format() == at::MemoryFormat::ChannelsLast
      ? at::MemoryFormat::ChannelsLast
      : at::MemoryFormat::Contiguous;
}

// Where a kernel writes: the batched tensor itself if it is dense in the
// layout, else a stand-in that `finish` copies over.
class Output {
 public:
  Output(const at::Tensor& given, at::MemoryFormat layout)
      : given_(batched(given)), used_(given_) {
    if (!given_.is_contiguous(layout)) {
      used_ = make_strided(
          given_.sizes(),
          {},
          given_.options().memory_format(layout));
    }
  }
  const at::Tensor& tensor() const { return used_; }
  void finish() const {
    if (!used_.is_same(given_)) {
      copy_back(given_, used_);
    }
  }

 private:
  at::Tensor given_;
  at::Tensor used_;
};

inline bool takes_maximum(const at::Tensor& self) {
  return mudnn::can_pool(self.scalar_type()) ||
      kernel_pools_maximum(self.scalar_type());
}
inline bool takes_average(const at::Tensor& self) {
  return mudnn::can_pool(self.scalar_type()) ||
      kernel_pools_average(self.scalar_type());
}
inline bool takes_gradient(const at::Tensor& self) {
  return mudnn::can_pool(self.scalar_type()) ||
      kernel_pools_gradient(self.scalar_type());
}

// muDNN's backward pass of the average takes floats only.
template <class Run>
void average_backward(
    const at::Tensor& grad,
    const at::Tensor& grad_input,
    at::MemoryFormat layout,
    Run run) {
  if (mudnn::can_average_backward(grad.scalar_type())) {
    const Output result(grad_input, layout);
    run(result.tensor(), batched(grad).contiguous(layout));
    result.finish();
    return;
  }
  const at::Tensor wide = make_strided(
      batched(grad_input).sizes(),
      {},
      grad_input.options().dtype(at::kFloat).memory_format(layout));
  run(wide, batched(grad).to(at::kFloat).contiguous(layout));
  copy_back(batched(grad_input), wide);
}

} // namespace torch_fl::ops
