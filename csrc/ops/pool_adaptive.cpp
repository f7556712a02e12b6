// SPDX-License-Identifier: Apache-2.0
// Two-dimensional pooling over adaptive windows. Dtypes that muDNN refuses run
// on kernels of ours.
#include "csrc/mudnn/pooling.h"
#include "csrc/ops/output.h"
#include "csrc/ops/pool.h"
#include "csrc/ops/pool_images.h"
#include "csrc/ops/structured.h"
#include "csrc/routing/register.h"

#include <ATen/ops/_adaptive_avg_pool2d_backward_ops.h>
#include <ATen/ops/_adaptive_avg_pool2d_ops.h>
#include <ATen/ops/adaptive_avg_pool2d_ops.h>
#include <ATen/ops/adaptive_max_pool2d_backward_meta.h>
#include <ATen/ops/adaptive_max_pool2d_meta.h>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::MemoryFormat;
using at::Tensor;

struct AdaptiveMaxPool : at::meta::structured_adaptive_max_pool2d {
  static bool accepts(const Tensor& self, IntArrayRef /*output_size*/) {
    return takes_maximum(self);
  }
  void impl(
      const Tensor& self,
      IntArrayRef /*output_size*/,
      const Tensor& out,
      const Tensor& indices) {
    if (out.numel() == 0) {
      return;
    }
    if (!mudnn::can_pool(self.scalar_type())) {
      kernel_max_pool(out, indices, self, 2, adaptive_windows());
      return;
    }
    const MemoryFormat layout = layout_of(self);
    const Output values(out, layout);
    const Output positions(indices, layout);
    mudnn::adaptive_max_pool(
        values.tensor(),
        positions.tensor(),
        batched(self).contiguous(layout),
        layout);
    values.finish();
    positions.finish();
  }
};

struct AdaptiveMaxPoolBackward
    : at::meta::structured_adaptive_max_pool2d_backward {
  static bool accepts(
      const Tensor& /*grad*/,
      const Tensor& self,
      const Tensor& /*indices*/) {
    return takes_gradient(self);
  }
  void impl(
      const Tensor& grad,
      const Tensor& self,
      const Tensor& indices,
      const Tensor& grad_input) {
    if (grad_input.numel() == 0) {
      return;
    }
    if (grad.numel() == 0) {
      grad_input.zero_();
      return;
    }
    if (!mudnn::can_pool(self.scalar_type())) {
      kernel_max_pool_backward(
          grad_input,
          grad,
          indices,
          2,
          adaptive_windows());
      return;
    }
    const MemoryFormat layout = layout_of(self);
    const Output result(grad_input, layout);
    mudnn::adaptive_max_pool_backward(
        result.tensor(),
        batched(grad).contiguous(layout),
        batched(indices).contiguous(layout),
        layout);
    result.finish();
  }
};

void check_adaptive(const Tensor& self, IntArrayRef output_size) {
  TORCH_CHECK(
      output_size.size() == 2,
      "adaptive_avg_pool2d: output_size must be 2");
  TORCH_CHECK(
      self.dim() == 3 || self.dim() == 4,
      "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got ",
      self.sizes());
  for (const int64_t i : {-2, -1}) {
    TORCH_CHECK(
        self.size(i) != 0,
        "adaptive_avg_pool2d(): Expected input to have non-zero size for "
        "non-batch dimensions, but input has sizes ",
        self.sizes(),
        " with dimension ",
        i + self.dim(),
        " being empty");
  }
}

void adaptive_into(const Tensor& self, const Tensor& out) {
  if (out.numel() == 0) {
    return;
  }
  if (!mudnn::can_pool(self.scalar_type())) {
    kernel_average_pool(out, self, 2, adaptive_windows());
    return;
  }
  const MemoryFormat layout = layout_of(self);
  const Output result(out, layout);
  mudnn::adaptive_average_pool(
      result.tensor(),
      batched(self).contiguous(layout),
      layout);
  result.finish();
}

at::DimVector adaptive_sizes(const Tensor& self, IntArrayRef output_size) {
  at::DimVector sizes(self.sizes().begin(), self.sizes().end() - 2);
  sizes.append(output_size.begin(), output_size.end());
  return sizes;
}

Tensor adaptive_average_pool(const Tensor& self, IntArrayRef output_size) {
  check_adaptive(self, output_size);
  if (!takes_average(self)) {
    return routing::to_cpu<at::_ops::_adaptive_avg_pool2d>::call(
        self,
        output_size);
  }
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_strided(
      adaptive_sizes(self, output_size),
      {},
      self.options().memory_format(layout_of(self)));
  adaptive_into(self, out);
  return out;
}

Tensor& adaptive_average_pool_out(
    const Tensor& self,
    IntArrayRef output_size,
    Tensor& out) {
  check_adaptive(self, output_size);
  if (!takes_average(self)) {
    return routing::to_cpu<at::_ops::adaptive_avg_pool2d_out>::call(
        self,
        output_size,
        out);
  }
  TORCH_CHECK(
      out.scalar_type() == self.scalar_type(),
      "expected dtype ",
      self.dtype(),
      " for `output` but got dtype ",
      out.dtype());
  check_same_device(self, out);
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(out, adaptive_sizes(self, output_size));
  adaptive_into(self, out);
  return out;
}

Tensor adaptive_average_pool_backward(const Tensor& grad, const Tensor& self) {
  TORCH_CHECK(
      self.dim() == 3 || self.dim() == 4,
      "adaptive_avg_pool2d_backward(): Expected 3D or 4D tensor, but got ",
      self.sizes());
  TORCH_CHECK(
      self.scalar_type() == grad.scalar_type(),
      "expected dtype ",
      self.dtype(),
      " for `grad_output` but got dtype ",
      grad.dtype());
  check_same_device(self, grad);
  if (!takes_gradient(self)) {
    return routing::to_cpu<at::_ops::_adaptive_avg_pool2d_backward>::call(
        grad,
        self);
  }
  const runtime::DeviceScope scope(self.device());
  const MemoryFormat layout = layout_of(self);
  Tensor grad_input =
      make_strided(self.sizes(), {}, self.options().memory_format(layout));
  if (grad_input.numel() == 0 || grad.numel() == 0) {
    grad_input.zero_();
  } else if (!mudnn::can_pool(self.scalar_type())) {
    kernel_average_pool_backward(grad_input, grad, 2, adaptive_windows());
  } else {
    average_backward(
        grad,
        grad_input,
        layout,
        [&](const Tensor& result, const Tensor& gradient) {
          mudnn::adaptive_average_pool_backward(result, gradient, layout);
        });
  }
  return grad_input;
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  structured<AdaptiveMaxPool>(
      registrar,
      "adaptive_max_pool2d",
      nullptr,
      "adaptive_max_pool2d.out");
  structured<AdaptiveMaxPoolBackward>(
      registrar,
      "adaptive_max_pool2d_backward",
      nullptr,
      "adaptive_max_pool2d_backward.grad_input");
  registrar.native<&adaptive_average_pool>("_adaptive_avg_pool2d");
  registrar.native<&adaptive_average_pool_out>("adaptive_avg_pool2d.out");
  registrar.native<&adaptive_average_pool_backward>(
      "_adaptive_avg_pool2d_backward");
}

} // namespace torch_fl::ops
