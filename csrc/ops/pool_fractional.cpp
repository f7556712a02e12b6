// SPDX-License-Identifier: Apache-2.0
// Maxima over windows at random places, on kernels of ours.
#include "csrc/ops/images.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/pool.h"
#include "csrc/ops/structured.h"
#include "csrc/routing/register.h"

#include <ATen/ops/fractional_max_pool2d_backward_meta.h>
#include <ATen/ops/fractional_max_pool2d_meta.h>
#include <ATen/ops/fractional_max_pool3d_meta.h>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::Tensor;

FlWindows windows_of(IntArrayRef kernel) {
  FlWindows windows = stepped_windows(
      static_cast<int64_t>(kernel.size()),
      kernel,
      kernel,
      0,
      1);
  windows.kind = kFlFractionalWindows;
  return windows;
}

void forward(
    const Tensor& self,
    IntArrayRef kernel,
    const Tensor& samples,
    const Tensor& out,
    const Tensor& indices) {
  if (out.numel() == 0) {
    return;
  }
  const auto spatial = static_cast<int64_t>(kernel.size());
  const int64_t planes =
      self.dim() == spatial + 2 ? self.size(0) * self.size(1) : self.size(0);
  TORCH_CHECK(
      samples.scalar_type() == self.scalar_type() &&
          samples.numel() == planes * spatial,
      "fractional_max_pool",
      spatial,
      "d(): expected _random_samples of the input's dtype and of ",
      planes * spatial,
      " elements, got ",
      samples.scalar_type(),
      " of sizes ",
      samples.sizes());
  const Tensor dense = samples.contiguous();
  const FlImage result = image_output(out, spatial);
  const FlImage positions = image_output(indices, spatial);
  const FlImage image = image_of(self, spatial);
  const FlWindows windows = windows_of(kernel);
  FL_MUSA_CHECK(fl_fractional_max_pool(
      kernel_type(self.scalar_type()),
      &result,
      &positions,
      &image,
      dense.unsafeGetTensorImpl()->data(),
      static_cast<int32_t>(spatial),
      &windows,
      kernel_stream()));
}

struct Fractional2d : at::meta::structured_fractional_max_pool2d {
  static bool accepts(
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*output_size*/,
      const Tensor& /*samples*/) {
    return kernel_pools_gradient(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      IntArrayRef kernel,
      IntArrayRef /*output_size*/,
      const Tensor& samples,
      const Tensor& out,
      const Tensor& indices) {
    forward(self, kernel, samples, out, indices);
  }
};

struct Fractional3d : at::meta::structured_fractional_max_pool3d {
  static bool accepts(
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*output_size*/,
      const Tensor& /*samples*/) {
    return kernel_pools_gradient(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      IntArrayRef kernel,
      IntArrayRef /*output_size*/,
      const Tensor& samples,
      const Tensor& out,
      const Tensor& indices) {
    forward(self, kernel, samples, out, indices);
  }
};

struct Fractional2dBackward
    : at::meta::structured_fractional_max_pool2d_backward {
  static bool accepts(
      const Tensor& /*grad*/,
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*output_size*/,
      const Tensor& /*indices*/) {
    return kernel_pools_gradient(self.scalar_type());
  }
  void impl(
      const Tensor& grad,
      const Tensor& /*self*/,
      IntArrayRef kernel,
      IntArrayRef /*output_size*/,
      const Tensor& indices,
      const Tensor& grad_input) {
    kernel_max_pool_backward(grad_input, grad, indices, 2, windows_of(kernel));
  }
};

// No structured class upstream.
Tensor& backward_3d_out(
    const Tensor& grad,
    const Tensor& self,
    IntArrayRef kernel,
    IntArrayRef output_size,
    const Tensor& indices,
    Tensor& grad_input) {
  TORCH_CHECK(
      kernel.size() == 3 && output_size.size() == 3 &&
          (self.dim() == 4 || self.dim() == 5),
      "fractional_max_pool3d_backward: expected an image of three dimensions, "
      "got sizes ",
      self.sizes());
  check_same_device(self, grad);
  check_same_device(self, indices);
  check_same_device(self, grad_input);
  at::DimVector sizes(self.sizes().begin(), self.sizes().end() - 3);
  sizes.append(output_size.begin(), output_size.end());
  TORCH_CHECK(
      grad.sizes() == IntArrayRef(sizes) && indices.sizes() == grad.sizes(),
      "fractional_max_pool3d_backward(): expected grad_output and indices of "
      "sizes ",
      IntArrayRef(sizes),
      ", got ",
      grad.sizes(),
      " and ",
      indices.sizes());
  TORCH_CHECK(
      grad.scalar_type() == self.scalar_type(),
      "fractional_max_pool3d_backward(): expected dtype ",
      self.scalar_type(),
      " for grad_output, got ",
      grad.scalar_type());
  if (!kernel_pools_gradient(self.scalar_type())) {
    return routing::ToCpuByName<Tensor&(
        const Tensor&,
        const Tensor&,
        IntArrayRef,
        IntArrayRef,
        const Tensor&,
        Tensor&)>::
        call(
            "fractional_max_pool3d_backward.grad_input",
            grad,
            self,
            kernel,
            output_size,
            indices,
            grad_input);
  }
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(grad_input, self.sizes());
  kernel_max_pool_backward(grad_input, grad, indices, 3, windows_of(kernel));
  return grad_input;
}

Tensor backward_3d(
    const Tensor& grad,
    const Tensor& self,
    IntArrayRef kernel,
    IntArrayRef output_size,
    const Tensor& indices) {
  const runtime::DeviceScope scope(self.device());
  Tensor grad_input = make_dense_like(self);
  backward_3d_out(grad, self, kernel, output_size, indices, grad_input);
  return grad_input;
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  structured<Fractional2d>(
      r,
      "fractional_max_pool2d",
      nullptr,
      "fractional_max_pool2d.output");
  structured<Fractional2dBackward>(
      r,
      "fractional_max_pool2d_backward",
      nullptr,
      "fractional_max_pool2d_backward.grad_input");
  structured<Fractional3d>(
      r,
      "fractional_max_pool3d",
      nullptr,
      "fractional_max_pool3d.output");
  r.native<&backward_3d>("fractional_max_pool3d_backward");
  r.native<&backward_3d_out>("fractional_max_pool3d_backward.grad_input");
}

} // namespace torch_fl::ops
