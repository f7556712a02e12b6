// SPDX-License-Identifier: Apache-2.0
// Convolution, transposed too, in one and two dimensions, and its gradients.
#include "csrc/mudnn/convolution.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/convolution_ops.h>

#include <array>
#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::MemoryFormat;
using at::Tensor;

// The arguments that convolution and its backward have in common.
struct Call {
  const Tensor& input;
  const Tensor& weight;
  IntArrayRef stride;
  IntArrayRef padding;
  IntArrayRef dilation;
  bool transposed;
  IntArrayRef output_padding;
  int64_t groups;
};

// One-dimensional convolutions arrive as images of height 1, so two spatial
// dimensions are all there is to do; doubles and 3-D are the CPU's. RunBwdData
// makes a transposed convolution only while every output element is reached.
bool is_native(const Call& call) {
  if (call.input.dim() != 4 || call.weight.dim() != 4 ||
      !mudnn::can_convolve(call.input.scalar_type())) {
    return false;
  }
  if (call.transposed) {
    for (size_t i = 0; i < 2; ++i) {
      const int64_t reach = call.dilation[i] *
          (call.weight.size(static_cast<int64_t>(i) + 2) - 1);
      if (call.padding[i] > reach || call.output_padding[i] >= call.stride[i]) {
        return false;
      }
    }
  }
  return true;
}

// In torch's words; upstream leaves it to the backends.
void check_types(const char* name, const Tensor& input, const Tensor& other) {
  TORCH_CHECK(
      input.scalar_type() == other.scalar_type(),
      "Input type (",
      input.toString(),
      ") and ",
      name,
      " type (",
      other.toString(),
      ") should be the same");
}

mudnn::ConvGeometry geometry_of(const Call& call) {
  mudnn::ConvGeometry g;
  for (size_t i = 0; i < 2; ++i) {
    g.padding[i] = static_cast<int>(call.padding[i]);
    g.stride[i] = static_cast<int>(call.stride[i]);
    g.dilation[i] = static_cast<int>(call.dilation[i]);
  }
  g.groups = static_cast<int>(call.groups);
  return g;
}

// Channels last if one of the operands is.
MemoryFormat layout_of(const Tensor& input, const Tensor& weight) {
  const auto last = MemoryFormat::ChannelsLast;
  return input.suggest_memory_format() == last ||
          weight.suggest_memory_format() == last
      ? last
      : MemoryFormat::Contiguous;
}

std::array<int64_t, 4> output_sizes(const Call& call) {
  const auto in = call.input.sizes();
  const auto filter = call.weight.sizes();
  std::array<int64_t, 4> sizes =
      {in[0], call.transposed ? filter[1] * call.groups : filter[0], 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t window = call.dilation[i] * (filter[i + 2] - 1) + 1;
    sizes[i + 2] = call.transposed
        ? (in[i + 2] - 1) * call.stride[i] - 2 * call.padding[i] + window +
            call.output_padding[i]
        : (in[i + 2] + 2 * call.padding[i] - window) / call.stride[i] + 1;
  }
  return sizes;
}

Tensor make_image(IntArrayRef sizes, const Tensor& like, MemoryFormat layout) {
  return make_strided(sizes, {}, like.options().memory_format(layout));
}

// NOLINTNEXTLINE(readability-function-size): the schema's arguments
Tensor convolution(
    const Tensor& input,
    const Tensor& weight,
    const std::optional<Tensor>& bias,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool transposed,
    IntArrayRef output_padding,
    int64_t groups) {
  check_same_device(input, weight);
  check_types("weight", input, weight);
  if (bias && bias->defined()) {
    check_same_device(input, *bias);
    check_types("bias", input, *bias);
  }
  const Call call{
      input,
      weight,
      stride,
      padding,
      dilation,
      transposed,
      output_padding,
      groups};
  if (!is_native(call)) {
    // convolution_overrideable itself has no CPU kernel: the call it was made
    // from goes to the counted fallback.
    return routing::to_cpu<at::_ops::convolution>::call(
        input,
        weight,
        bias,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups);
  }
  const runtime::DeviceScope scope(input.device());
  const MemoryFormat layout = layout_of(input, weight);
  Tensor out = make_image(output_sizes(call), input, layout);
  if (out.numel() == 0) {
    return out;
  }
  if (input.numel() == 0 || weight.numel() == 0) {
    out.zero_();
  } else {
    const Tensor image = input.contiguous(layout);
    const Tensor filter = weight.contiguous(layout);
    const mudnn::ConvGeometry g = geometry_of(call);
    if (transposed) {
      mudnn::convolve_backward_data(out, image, filter, g, layout);
    } else {
      mudnn::convolve(out, image, filter, g, layout);
    }
  }
  // bias=None arrives as an optional that holds an undefined tensor.
  if (bias && bias->defined()) {
    mudnn::add_channel_bias(out, *bias);
  }
  return out;
}

Tensor input_gradient(
    const Call& call,
    const Tensor& grad_output,
    MemoryFormat layout) {
  Tensor grad_input = make_image(call.input.sizes(), call.input, layout);
  if (grad_input.numel() == 0) {
    return grad_input;
  }
  if (grad_output.numel() == 0) {
    return grad_input.zero_();
  }
  const Tensor filter = call.weight.contiguous(layout);
  const mudnn::ConvGeometry g = geometry_of(call);
  if (call.transposed) {
    mudnn::convolve(grad_input, grad_output, filter, g, layout);
  } else {
    mudnn::convolve_backward_data(grad_input, grad_output, filter, g, layout);
  }
  return grad_input;
}

Tensor weight_gradient(
    const Call& call,
    const Tensor& grad_output,
    MemoryFormat layout) {
  Tensor grad_weight = make_image(call.weight.sizes(), call.weight, layout);
  if (grad_weight.numel() == 0) {
    return grad_weight;
  }
  if (grad_output.numel() == 0 || call.input.numel() == 0) {
    return grad_weight.zero_();
  }
  const Tensor image = call.input.contiguous(layout);
  const mudnn::ConvGeometry g = geometry_of(call);
  if (call.transposed) {
    mudnn::convolve_backward_filter(grad_weight, grad_output, image, g, layout);
  } else {
    mudnn::convolve_backward_filter(grad_weight, image, grad_output, g, layout);
  }
  return grad_weight;
}

std::tuple<Tensor, Tensor, Tensor> backward_on_cpu(
    const Call& call,
    const Tensor& grad_output,
    std::array<bool, 3> output_mask) {
  const int64_t channels = grad_output.size(1);
  return routing::to_cpu<at::_ops::convolution_backward>::call(
      grad_output,
      call.input,
      call.weight,
      output_mask[2] ? at::OptionalIntArrayRef(IntArrayRef(channels))
                     : at::OptionalIntArrayRef(),
      call.stride,
      call.padding,
      call.dilation,
      call.transposed,
      call.output_padding,
      call.groups,
      output_mask);
}

// NOLINTNEXTLINE(readability-function-size): the schema's arguments
std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad_output,
    const Tensor& input,
    const Tensor& weight,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool transposed,
    IntArrayRef output_padding,
    int64_t groups,
    std::array<bool, 3> output_mask) {
  check_same_device(grad_output, input);
  check_same_device(grad_output, weight);
  const Call call{
      input,
      weight,
      stride,
      padding,
      dilation,
      transposed,
      output_padding,
      groups};
  if (!is_native(call)) {
    return backward_on_cpu(call, grad_output, output_mask);
  }
  const runtime::DeviceScope scope(input.device());
  const MemoryFormat layout = layout_of(input, weight);
  const Tensor gradient = grad_output.contiguous(layout);
  Tensor grad_input;
  Tensor grad_weight;
  Tensor grad_bias;
  if (output_mask[0]) {
    grad_input = input_gradient(call, gradient, layout);
  }
  if (output_mask[1]) {
    grad_weight = weight_gradient(call, gradient, layout);
  }
  if (output_mask[2]) {
    grad_bias = make_dense({gradient.size(1)}, gradient.scalar_type());
    if (gradient.numel() == 0) {
      grad_bias.zero_();
    } else {
      mudnn::sum_to_channels(grad_bias, gradient, layout);
    }
  }
  return {std::move(grad_input), std::move(grad_weight), std::move(grad_bias)};
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&convolution>("convolution_overrideable");
  registrar.native<&convolution_backward>("convolution_backward_overrideable");
}

} // namespace torch_fl::ops
