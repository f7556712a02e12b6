// SPDX-License-Identifier: Apache-2.0
// Two-dimensional pooling: maximum, average, adaptive average.
#include "csrc/mudnn/pooling.h"
#include "csrc/ops/output.h"
#include "csrc/ops/structured.h"
#include "csrc/routing/register.h"

#include <ATen/ops/_adaptive_avg_pool2d_backward_ops.h>
#include <ATen/ops/_adaptive_avg_pool2d_ops.h>
#include <ATen/ops/adaptive_avg_pool2d_ops.h>
#include <ATen/ops/avg_pool2d_backward_meta.h>
#include <ATen/ops/avg_pool2d_meta.h>
#include <ATen/ops/max_pool2d_with_indices_backward_meta.h>
#include <ATen/ops/max_pool2d_with_indices_meta.h>

#include <array>
#include <optional>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::MemoryFormat;
using at::Tensor;

// One image becomes a batch of one.
Tensor batched(const Tensor& t) {
  return t.dim() == 3 ? t.unsqueeze(0) : t;
}

MemoryFormat layout_of(const Tensor& self) {
  return self.dim() == 4 &&
          self.suggest_memory_format() == MemoryFormat::ChannelsLast
      ? MemoryFormat::ChannelsLast
      : MemoryFormat::Contiguous;
}

// Where a kernel writes: the batched tensor itself if it is dense in the
// layout, else a stand-in that `finish` copies over.
class Output {
 public:
  Output(const Tensor& given, MemoryFormat layout)
      : given_(batched(given)), used_(given_) {
    if (!given_.is_contiguous(layout)) {
      used_ = make_strided(
          given_.sizes(),
          {},
          given_.options().memory_format(layout));
    }
  }
  const Tensor& tensor() const { return used_; }
  void finish() const {
    if (!used_.is_same(given_)) {
      copy_back(given_, used_);
    }
  }

 private:
  Tensor given_;
  Tensor used_;
};

std::array<int, 2> pair_of(IntArrayRef values) {
  return {
      static_cast<int>(values[0]),
      static_cast<int>(values.size() == 1 ? values[0] : values[1])};
}

mudnn::Window window_of(
    IntArrayRef kernel,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation) {
  mudnn::Window window;
  window.kernel = pair_of(kernel);
  window.stride = stride.empty() ? window.kernel : pair_of(stride);
  window.padding = pair_of(padding);
  window.dilation = pair_of(dilation);
  return window;
}

struct MaxPool : at::meta::structured_max_pool2d_with_indices {
  static bool accepts(
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*stride*/,
      IntArrayRef /*padding*/,
      IntArrayRef /*dilation*/,
      bool /*ceil_mode*/) {
    return mudnn::can_pool(self.scalar_type());
  }
  // ceil_mode shows in the sizes of `out` alone.
  void impl(
      const Tensor& self,
      IntArrayRef kernel,
      IntArrayRef stride,
      IntArrayRef padding,
      IntArrayRef dilation,
      bool /*ceil_mode*/,
      const Tensor& out,
      const Tensor& indices) {
    if (out.numel() == 0) {
      return;
    }
    const MemoryFormat layout = layout_of(self);
    const Output values(out, layout);
    const Output positions(indices, layout);
    mudnn::max_pool(
        values.tensor(),
        positions.tensor(),
        batched(self).contiguous(layout),
        window_of(kernel, stride, padding, dilation),
        layout);
    values.finish();
    positions.finish();
  }
};

struct MaxPoolBackward : at::meta::structured_max_pool2d_with_indices_backward {
  static bool accepts(
      const Tensor& /*grad*/,
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*stride*/,
      IntArrayRef /*padding*/,
      IntArrayRef /*dilation*/,
      bool /*ceil_mode*/,
      const Tensor& /*indices*/) {
    return mudnn::can_pool(self.scalar_type());
  }
  // NOLINTNEXTLINE(readability-function-size): the schema's arguments
  void impl(
      const Tensor& grad,
      const Tensor& self,
      IntArrayRef kernel,
      IntArrayRef stride,
      IntArrayRef padding,
      IntArrayRef dilation,
      bool /*ceil_mode*/,
      const Tensor& indices,
      const Tensor& grad_input) {
    if (grad_input.numel() == 0) {
      return;
    }
    if (grad.numel() == 0) {
      grad_input.zero_();
      return;
    }
    const MemoryFormat layout = layout_of(self);
    const Output result(grad_input, layout);
    mudnn::max_pool_backward(
        result.tensor(),
        batched(grad).contiguous(layout),
        batched(indices).contiguous(layout),
        window_of(kernel, stride, padding, dilation),
        layout);
    result.finish();
  }
};

mudnn::Average average_of(
    IntArrayRef kernel,
    IntArrayRef stride,
    IntArrayRef padding,
    bool count_padding,
    std::optional<int64_t> divisor) {
  TORCH_CHECK(
      !divisor.has_value() || *divisor != 0,
      "divisor must be not zero");
  mudnn::Average average;
  average.window = window_of(kernel, stride, padding, 1);
  average.count_padding = count_padding;
  average.divisor = static_cast<int>(divisor.value_or(0));
  return average;
}

struct AveragePool : at::meta::structured_avg_pool2d {
  static bool accepts(
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*stride*/,
      IntArrayRef /*padding*/,
      bool /*ceil_mode*/,
      bool /*count_padding*/,
      std::optional<int64_t> /*divisor*/) {
    return mudnn::can_pool(self.scalar_type());
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
    const mudnn::Average average =
        average_of(kernel, stride, padding, count_padding, divisor);
    if (out.numel() == 0) {
      return;
    }
    const MemoryFormat layout = layout_of(self);
    const Output result(out, layout);
    mudnn::average_pool(
        result.tensor(),
        batched(self).contiguous(layout),
        average,
        layout);
    result.finish();
  }
};

// muDNN's backward pass of the average takes floats only.
template <class Run>
void average_backward(
    const Tensor& grad,
    const Tensor& grad_input,
    MemoryFormat layout,
    Run run) {
  if (mudnn::can_average_backward(grad.scalar_type())) {
    const Output result(grad_input, layout);
    run(result.tensor(), batched(grad).contiguous(layout));
    result.finish();
    return;
  }
  const Tensor wide = make_strided(
      batched(grad_input).sizes(),
      {},
      grad_input.options().dtype(at::kFloat).memory_format(layout));
  run(wide, batched(grad).to(at::kFloat).contiguous(layout));
  copy_back(batched(grad_input), wide);
}

struct AveragePoolBackward : at::meta::structured_avg_pool2d_backward {
  static bool accepts(
      const Tensor& /*grad*/,
      const Tensor& self,
      IntArrayRef /*kernel*/,
      IntArrayRef /*stride*/,
      IntArrayRef /*padding*/,
      bool /*ceil_mode*/,
      bool /*count_padding*/,
      std::optional<int64_t> /*divisor*/) {
    return mudnn::can_pool(self.scalar_type());
  }
  // NOLINTNEXTLINE(readability-function-size): the schema's arguments
  void impl(
      const Tensor& grad,
      const Tensor& self,
      IntArrayRef kernel,
      IntArrayRef stride,
      IntArrayRef padding,
      bool /*ceil_mode*/,
      bool count_padding,
      std::optional<int64_t> divisor,
      const Tensor& grad_input) {
    const mudnn::Average average =
        average_of(kernel, stride, padding, count_padding, divisor);
    if (grad_input.numel() == 0) {
      return;
    }
    if (grad.numel() == 0) {
      grad_input.zero_();
      return;
    }
    const MemoryFormat layout = layout_of(self);
    average_backward(
        grad,
        grad_input,
        layout,
        [&](const Tensor& result, const Tensor& gradient) {
          mudnn::average_pool_backward(result, gradient, average, layout);
        });
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
  if (!mudnn::can_pool(self.scalar_type())) {
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
  if (!mudnn::can_pool(self.scalar_type())) {
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
  if (!mudnn::can_pool(self.scalar_type())) {
    return routing::to_cpu<at::_ops::_adaptive_avg_pool2d_backward>::call(
        grad,
        self);
  }
  const runtime::DeviceScope scope(self.device());
  const MemoryFormat layout = layout_of(self);
  Tensor grad_input =
      make_strided(self.sizes(), {}, self.options().memory_format(layout));
  if (grad_input.numel() != 0 && grad.numel() != 0) {
    average_backward(
        grad,
        grad_input,
        layout,
        [&](const Tensor& result, const Tensor& gradient) {
          mudnn::adaptive_average_pool_backward(result, gradient, layout);
        });
  } else {
    grad_input.zero_();
  }
  return grad_input;
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  structured<MaxPool>(
      registrar,
      "max_pool2d_with_indices",
      nullptr,
      "max_pool2d_with_indices.out");
  structured<MaxPoolBackward>(
      registrar,
      "max_pool2d_with_indices_backward",
      nullptr,
      "max_pool2d_with_indices_backward.grad_input");
  structured<AveragePool>(registrar, "avg_pool2d", nullptr, "avg_pool2d.out");
  structured<AveragePoolBackward>(
      registrar,
      "avg_pool2d_backward",
      nullptr,
      "avg_pool2d_backward.grad_input");
  registrar.native<&adaptive_average_pool>("_adaptive_avg_pool2d");
  registrar.native<&adaptive_average_pool_out>("adaptive_avg_pool2d.out");
  registrar.native<&adaptive_average_pool_backward>(
      "_adaptive_avg_pool2d_backward");
}

} // namespace torch_fl::ops
