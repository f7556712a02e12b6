// SPDX-License-Identifier: Apache-2.0
// Maxima in three dimensions, on kernels of ours. Upstream has no structured
// class for them.
#include "csrc/ops/output.h"
#include "csrc/ops/pool.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/native/Pool.h>
#include <ATen/native/Resize.h>

#include <tuple>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::MemoryFormat;
using at::Tensor;

constexpr int64_t kSpatial = 3;

struct MaxPool {
  IntArrayRef kernel;
  IntArrayRef stride;
  IntArrayRef padding;
  IntArrayRef dilation;
  bool ceil_mode;

  FlWindows windows() const {
    return stepped_windows(kSpatial, kernel, stride, padding, dilation);
  }

  void check_lengths() const {
    const auto one_or_three = [](IntArrayRef values) {
      return values.size() == 1 || values.size() == 3;
    };
    TORCH_CHECK(
        one_or_three(kernel),
        "max_pool3d: kernel_size must either be a single int, or a tuple of "
        "three ints");
    TORCH_CHECK(
        stride.empty() || one_or_three(stride),
        "max_pool3d: stride must either be omitted, a single int, or a tuple "
        "of three ints");
    TORCH_CHECK(
        one_or_three(padding),
        "max_pool3d: padding must either be a single int, or a tuple of three "
        "ints");
    TORCH_CHECK(
        one_or_three(dilation),
        "max_pool3d: dilation must be either a single int, or a tuple of three "
        "ints");
  }

  // Checks the call and says what comes out of it.
  at::DimVector output_sizes(const Tensor& self) const {
    check_lengths();
    TORCH_CHECK(
        self.dim() == 4 || self.dim() == 5,
        "max_pool3d_with_indices(): Expected 4D or 5D tensor for input, but "
        "got: ",
        self.sizes());
    const FlWindows w = windows();
    int64_t in[3];
    int64_t out[3];
    for (int i = 0; i < 3; ++i) {
      in[i] = self.size(i - 3);
      out[i] = at::native::pooling_output_shape<int64_t>(
          in[i],
          w.kernel[i],
          w.padding[i],
          w.stride[i],
          w.dilation[i],
          ceil_mode);
    }
    at::native::pool3d_shape_check(
        self,
        self.size(-4),
        w.kernel[0],
        w.kernel[1],
        w.kernel[2],
        w.stride[0],
        w.stride[1],
        w.stride[2],
        w.padding[0],
        w.padding[1],
        w.padding[2],
        w.dilation[0],
        w.dilation[1],
        w.dilation[2],
        in[0],
        in[1],
        in[2],
        out[0],
        out[1],
        out[2],
        "max_pool3d_with_indices()");
    at::DimVector sizes(self.sizes().begin(), self.sizes().end() - 3);
    sizes.append(out, out + 3);
    return sizes;
  }
};

Tensor make_like(const Tensor& self, IntArrayRef sizes, at::ScalarType type) {
  const auto layout =
      self.dim() == 5 ? self.suggest_memory_format() : MemoryFormat::Contiguous;
  return make_strided(
      sizes,
      {},
      self.options().dtype(type).memory_format(layout));
}

std::tuple<Tensor, Tensor> max_pool(
    const Tensor& self,
    IntArrayRef kernel,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool ceil_mode) {
  const MaxPool call{kernel, stride, padding, dilation, ceil_mode};
  const at::DimVector sizes = call.output_sizes(self);
  if (!kernel_pools_maximum(self.scalar_type())) {
    return routing::ToCpuByName<std::tuple<Tensor, Tensor>(
        const Tensor&,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        bool)>::
        call(
            "max_pool3d_with_indices",
            self,
            kernel,
            stride,
            padding,
            dilation,
            ceil_mode);
  }
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_like(self, sizes, self.scalar_type());
  Tensor indices = make_like(self, sizes, at::kLong);
  kernel_max_pool(out, indices, self, kSpatial, call.windows());
  return {std::move(out), std::move(indices)};
}

std::tuple<Tensor&, Tensor&> max_pool_out(
    const Tensor& self,
    IntArrayRef kernel,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool ceil_mode,
    Tensor& out,
    Tensor& indices) {
  const MaxPool call{kernel, stride, padding, dilation, ceil_mode};
  const at::DimVector sizes = call.output_sizes(self);
  TORCH_CHECK(
      out.scalar_type() == self.scalar_type() &&
          indices.scalar_type() == at::kLong,
      "Expected out tensors to have dtypes ",
      self.scalar_type(),
      " and Long");
  check_same_device(self, out);
  check_same_device(self, indices);
  if (!kernel_pools_maximum(self.scalar_type())) {
    return routing::ToCpuByName<std::tuple<Tensor&, Tensor&>(
        const Tensor&,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        bool,
        Tensor&,
        Tensor&)>::
        call(
            "max_pool3d_with_indices.out",
            self,
            kernel,
            stride,
            padding,
            dilation,
            ceil_mode,
            out,
            indices);
  }
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(out, sizes);
  at::native::resize_output(indices, sizes);
  kernel_max_pool(out, indices, self, kSpatial, call.windows());
  return {out, indices};
}

void check_gradient(
    const MaxPool& call,
    const Tensor& grad,
    const Tensor& self,
    const Tensor& indices) {
  const at::DimVector sizes = call.output_sizes(self);
  check_same_device(self, grad);
  check_same_device(self, indices);
  TORCH_CHECK(
      grad.scalar_type() == self.scalar_type(),
      "max_pool3d_backward: expected dtype ",
      self.scalar_type(),
      " for grad_output, got ",
      grad.scalar_type());
  TORCH_CHECK(
      grad.sizes() == IntArrayRef(sizes) && indices.sizes() == grad.sizes(),
      "max_pool3d_backward: expected grad_output and indices of sizes ",
      IntArrayRef(sizes),
      ", got ",
      grad.sizes(),
      " and ",
      indices.sizes());
}

Tensor& max_pool_backward_out(
    const Tensor& grad,
    const Tensor& self,
    IntArrayRef kernel,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool ceil_mode,
    const Tensor& indices,
    Tensor& grad_input) {
  const MaxPool call{kernel, stride, padding, dilation, ceil_mode};
  check_gradient(call, grad, self, indices);
  check_same_device(self, grad_input);
  if (!kernel_pools_gradient(self.scalar_type())) {
    return routing::ToCpuByName<Tensor&(
        const Tensor&,
        const Tensor&,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        bool,
        const Tensor&,
        Tensor&)>::
        call(
            "max_pool3d_with_indices_backward.grad_input",
            grad,
            self,
            kernel,
            stride,
            padding,
            dilation,
            ceil_mode,
            indices,
            grad_input);
  }
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(grad_input, self.sizes());
  kernel_max_pool_backward(grad_input, grad, indices, kSpatial, call.windows());
  return grad_input;
}

Tensor max_pool_backward(
    const Tensor& grad,
    const Tensor& self,
    IntArrayRef kernel,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool ceil_mode,
    const Tensor& indices) {
  const runtime::DeviceScope scope(self.device());
  Tensor grad_input = make_like(self, self.sizes(), self.scalar_type());
  max_pool_backward_out(
      grad,
      self,
      kernel,
      stride,
      padding,
      dilation,
      ceil_mode,
      indices,
      grad_input);
  return grad_input;
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&max_pool>("max_pool3d_with_indices");
  r.native<&max_pool_out>("max_pool3d_with_indices.out");
  r.native<&max_pool_backward>("max_pool3d_with_indices_backward");
  r.native<&max_pool_backward_out>(
      "max_pool3d_with_indices_backward.grad_input");
}

} // namespace torch_fl::ops
