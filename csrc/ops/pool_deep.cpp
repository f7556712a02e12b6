// SPDX-License-Identifier: Apache-2.0
// Averages and adaptive pooling in three dimensions, on kernels of ours:
// muDNN's Pooling is known to take that rank in its adaptive average alone.
#include "csrc/ops/output.h"
#include "csrc/ops/pool.h"
#include "csrc/ops/structured.h"
#include "csrc/routing/register.h"

#include <ATen/native/AdaptivePooling.h>
#include <ATen/ops/adaptive_max_pool3d_backward_meta.h>
#include <ATen/ops/adaptive_max_pool3d_meta.h>
#include <ATen/ops/avg_pool3d_backward_meta.h>
#include <ATen/ops/avg_pool3d_meta.h>

#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::MemoryFormat;
using at::Tensor;

constexpr int64_t kSpatial = 3;

struct AveragePool : at::meta::structured_avg_pool3d {
  static bool accepts(
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*stride*/,
      IntArrayRef /*padding*/,
      bool /*ceil_mode*/,
      bool /*count_padding*/,
      std::optional<int64_t> /*divisor*/) {
    return kernel_pools_average(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      IntArrayRef kernel,
      IntArrayRef stride,
      IntArrayRef padding,
      bool /*ceil_mode*/,
      bool count_padding,
      std::optional<int64_t> divisor,
      const Tensor& out) {
    kernel_average_pool(
        out,
        self,
        kSpatial,
        average_windows(
            kSpatial,
            kernel,
            stride,
            padding,
            count_padding,
            divisor));
  }
};

struct AveragePoolBackward : at::meta::structured_avg_pool3d_backward {
  static bool accepts(
      const Tensor& /*grad*/,
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*stride*/,
      IntArrayRef /*padding*/,
      bool /*ceil_mode*/,
      bool /*count_padding*/,
      std::optional<int64_t> /*divisor*/) {
    return kernel_pools_gradient(self.scalar_type());
  }
  // NOLINTNEXTLINE(readability-function-size): the schema's arguments
  void impl(
      const Tensor& grad,
      const Tensor& /*self*/,
      IntArrayRef kernel,
      IntArrayRef stride,
      IntArrayRef padding,
      bool /*ceil_mode*/,
      bool count_padding,
      std::optional<int64_t> divisor,
      const Tensor& grad_input) {
    kernel_average_pool_backward(
        grad_input,
        grad,
        kSpatial,
        average_windows(
            kSpatial,
            kernel,
            stride,
            padding,
            count_padding,
            divisor));
  }
};

struct AdaptiveMaxPool : at::meta::structured_adaptive_max_pool3d {
  static bool accepts(const Tensor& self, IntArrayRef /*output_size*/) {
    return kernel_pools_maximum(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      IntArrayRef /*output_size*/,
      const Tensor& out,
      const Tensor& indices) {
    kernel_max_pool(out, indices, self, kSpatial, adaptive_windows());
  }
};

struct AdaptiveMaxPoolBackward
    : at::meta::structured_adaptive_max_pool3d_backward {
  static bool accepts(
      const Tensor& /*grad*/,
      const Tensor& self,
      const Tensor& /*indices*/) {
    return kernel_pools_gradient(self.scalar_type());
  }
  void impl(
      const Tensor& grad,
      const Tensor& /*self*/,
      const Tensor& indices,
      const Tensor& grad_input) {
    kernel_max_pool_backward(
        grad_input,
        grad,
        indices,
        kSpatial,
        adaptive_windows());
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

at::DimVector adaptive_sizes(const Tensor& self, IntArrayRef output_size) {
  TORCH_CHECK(
      output_size.size() == 3,
      "adaptive_avg_pool3d: output_size must be 3");
  TORCH_CHECK(
      self.dim() == 4 || self.dim() == 5,
      "adaptive_avg_pool3d(): Expected 4D or 5D tensor, but got ",
      self.sizes());
  for (const int64_t i : {-3, -2, -1}) {
    TORCH_CHECK(
        self.size(i) > 0,
        "adaptive_avg_pool3d(): Expected input to have non-zero size for "
        "non-batch dimensions, but input has sizes ",
        self.sizes(),
        " with dimension ",
        i + self.dim(),
        " being empty");
  }
  at::DimVector sizes(self.sizes().begin(), self.sizes().end() - 3);
  sizes.append(output_size.begin(), output_size.end());
  return sizes;
}

Tensor& adaptive_average_pool_out(
    const Tensor& self,
    IntArrayRef output_size,
    Tensor& out) {
  const at::DimVector sizes = adaptive_sizes(self, output_size);
  TORCH_CHECK(
      out.scalar_type() == self.scalar_type(),
      "expected dtype ",
      self.dtype(),
      " for `output` but got dtype ",
      out.dtype());
  check_same_device(self, out);
  if (!kernel_pools_average(self.scalar_type())) {
    return routing::ToCpuByName<Tensor&(const Tensor&, IntArrayRef, Tensor&)>::
        call("adaptive_avg_pool3d.out", self, output_size, out);
  }
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(out, sizes);
  kernel_average_pool(out, self, kSpatial, adaptive_windows());
  return out;
}

Tensor adaptive_average_pool(const Tensor& self, IntArrayRef output_size) {
  const at::DimVector sizes = adaptive_sizes(self, output_size);
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_like(self, sizes, self.scalar_type());
  adaptive_average_pool_out(self, output_size, out);
  return out;
}

Tensor& adaptive_average_pool_backward_out(
    const Tensor& grad,
    const Tensor& self,
    Tensor& grad_input) {
  TORCH_CHECK(
      self.dim() == 4 || self.dim() == 5,
      "adaptive_avg_pool3d_backward(): Expected 4D or 5D tensor, but got ",
      self.sizes());
  at::native::adaptive_pool_empty_output_check(
      grad,
      "adaptive_avg_pool3d_backward");
  TORCH_CHECK(
      self.scalar_type() == grad.scalar_type(),
      "expected dtype ",
      self.dtype(),
      " for `grad_output` but got dtype ",
      grad.dtype());
  check_same_device(self, grad);
  check_same_device(self, grad_input);
  if (!kernel_pools_gradient(self.scalar_type())) {
    return routing::
        ToCpuByName<Tensor&(const Tensor&, const Tensor&, Tensor&)>::call(
            "adaptive_avg_pool3d_backward.grad_input",
            grad,
            self,
            grad_input);
  }
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(grad_input, self.sizes());
  kernel_average_pool_backward(grad_input, grad, kSpatial, adaptive_windows());
  return grad_input;
}

Tensor adaptive_average_pool_backward(const Tensor& grad, const Tensor& self) {
  const runtime::DeviceScope scope(self.device());
  Tensor grad_input = make_like(self, self.sizes(), self.scalar_type());
  adaptive_average_pool_backward_out(grad, self, grad_input);
  return grad_input;
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  structured<AveragePool>(r, "avg_pool3d", nullptr, "avg_pool3d.out");
  structured<AveragePoolBackward>(
      r,
      "avg_pool3d_backward",
      nullptr,
      "avg_pool3d_backward.grad_input");
  structured<AdaptiveMaxPool>(
      r,
      "adaptive_max_pool3d",
      nullptr,
      "adaptive_max_pool3d.out");
  structured<AdaptiveMaxPoolBackward>(
      r,
      "adaptive_max_pool3d_backward",
      nullptr,
      "adaptive_max_pool3d_backward.grad_input");
  r.native<&adaptive_average_pool>("_adaptive_avg_pool3d");
  r.native<&adaptive_average_pool_out>("adaptive_avg_pool3d.out");
  r.native<&adaptive_average_pool_backward>("_adaptive_avg_pool3d_backward");
  r.native<&adaptive_average_pool_backward_out>(
      "adaptive_avg_pool3d_backward.grad_input");
}

} // namespace torch_fl::ops
