// SPDX-License-Identifier: Apache-2.0
// Convolution, transposed too, in one to three dimensions, and its gradients.
#include "csrc/mudnn/convolution.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ops/channel_shuffle_native.h>
#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/convolution_ops.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
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

// One-dimensional convolutions arrive as images of height 1; doubles are the
// CPU's.
bool is_native(const Call& call) {
  const int64_t rank = call.input.dim();
  return (rank == 4 || rank == 5) && call.weight.dim() == rank &&
      mudnn::can_convolve(call.input.scalar_type());
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
  g.spatial = static_cast<int>(call.input.dim()) - 2;
  for (size_t i = 0; i < static_cast<size_t>(g.spatial); ++i) {
    g.padding[i] = static_cast<int>(call.padding[i]);
    g.stride[i] = static_cast<int>(call.stride[i]);
    g.dilation[i] = static_cast<int>(call.dilation[i]);
  }
  g.groups = static_cast<int>(call.groups);
  return g;
}

// Channels last if one of the operands is.
MemoryFormat layout_of(const Tensor& input, const Tensor& weight) {
  const auto last = input.dim() == 5 ? MemoryFormat::ChannelsLast3d
                                     : MemoryFormat::ChannelsLast;
  return input.suggest_memory_format() == last ||
          weight.suggest_memory_format() == last
      ? last
      : MemoryFormat::Contiguous;
}

using Sizes = c10::SmallVector<int64_t, 5>;

Sizes output_sizes(const Call& call) {
  const auto in = call.input.sizes();
  const auto filter = call.weight.sizes();
  Sizes sizes = {in[0], call.transposed ? filter[1] * call.groups : filter[0]};
  for (size_t i = 0; i + 2 < in.size(); ++i) {
    const int64_t window = call.dilation[i] * (filter[i + 2] - 1) + 1;
    sizes.push_back(
        call.transposed
            ? (in[i + 2] - 1) * call.stride[i] - 2 * call.padding[i] + window +
                call.output_padding[i]
            : (in[i + 2] + 2 * call.padding[i] - window) / call.stride[i] + 1);
  }
  return sizes;
}

// As upstream's own kernels check; the code before the backends does not.
void check_transposed(const Call& call, IntArrayRef sizes) {
  for (size_t i = 0; i + 2 < sizes.size(); ++i) {
    TORCH_CHECK(
        call.output_padding[i] < call.stride[i] ||
            call.output_padding[i] < call.dilation[i],
        "output padding must be smaller than either stride or dilation, but "
        "got output_padding ",
        call.output_padding,
        ", stride ",
        call.stride,
        ", dilation ",
        call.dilation);
    TORCH_CHECK(
        sizes[i + 2] >= 1,
        "Given input size per channel: ",
        call.input.sizes().slice(2),
        ". Calculated output size per channel: ",
        sizes.slice(2),
        ". Output size is too small");
  }
}

Tensor make_image(IntArrayRef sizes, const Tensor& like, MemoryFormat layout) {
  return make_strided(sizes, {}, like.options().memory_format(layout));
}

// The wide side of a transposed convolution, as muDNN serves it: the filter
// reaches over the padding, and no row lies beyond the last stride. Other calls
// (a padding wider than the filter, an output_padding of a stride and more) run
// on a side of other sizes, of which `first` is the first row that counts.
struct Wide {
  mudnn::ConvGeometry geometry;
  Sizes sizes;
  std::array<int64_t, 3> first = {0, 0, 0};
  bool as_asked = true;
};

// `narrow` and `asked` are the sizes of both sides.
Wide wide_side(
    mudnn::ConvGeometry geometry,
    IntArrayRef narrow,
    IntArrayRef asked,
    IntArrayRef filter) {
  Wide wide{geometry, Sizes(asked.begin(), asked.end())};
  for (size_t i = 0; i < static_cast<size_t>(geometry.spatial); ++i) {
    const int64_t stride = geometry.stride[i];
    const int64_t reach = geometry.dilation[i] * (filter[i + 2] - 1);
    const int64_t padding = geometry.padding[i];
    const int64_t rows = (narrow[i + 2] - 1) * stride + reach + 1;
    const int64_t extra = asked[i + 2] - (rows - 2 * padding);
    const int64_t used = std::max<int64_t>(
        std::min({padding, reach, padding - extra + stride - 1}),
        0);
    const int64_t more =
        std::clamp<int64_t>(extra - padding + used, 0, stride - 1);
    wide.geometry.padding[i] = static_cast<int>(used);
    wide.sizes[i + 2] = rows - 2 * used + more;
    wide.first[i] = padding - used;
    wide.as_asked = wide.as_asked && used == padding && more == extra;
  }
  return wide;
}

// Of both sides what they have in common; nothing for sides that do not meet.
bool overlap(const Wide& wide, Tensor& made, Tensor& asked) {
  for (size_t i = 0; i < static_cast<size_t>(wide.geometry.spatial); ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    const int64_t length =
        std::min(asked.size(dim), made.size(dim) - wide.first[i]);
    if (length <= 0) {
      return false;
    }
    made = made.narrow(dim, wide.first[i], length);
    asked = asked.narrow(dim, 0, length);
  }
  return true;
}

// wide = transposed convolution of narrow; also the gradient of a convolution's
// input.
void transposed_into(
    const Tensor& result,
    const Tensor& narrow,
    const Tensor& filter,
    const mudnn::ConvGeometry& geometry,
    MemoryFormat layout) {
  const Wide wide =
      wide_side(geometry, narrow.sizes(), result.sizes(), filter.sizes());
  if (wide.as_asked) {
    mudnn::convolve_backward_data(result, narrow, filter, geometry, layout);
    return;
  }
  Tensor made = make_image(wide.sizes, result, layout);
  mudnn::convolve_backward_data(made, narrow, filter, wide.geometry, layout);
  Tensor target = result.zero_();
  if (overlap(wide, made, target)) {
    copy_back(target, made);
  }
}

// The gradient of a transposed convolution's result on the side that muDNN
// serves: rows that no input reached have no gradient.
Tensor
on_wide_side(const Wide& wide, const Tensor& gradient, MemoryFormat layout) {
  if (wide.as_asked) {
    return gradient;
  }
  Tensor made = make_image(wide.sizes, gradient, layout).zero_();
  Tensor target = made;
  Tensor source = gradient;
  if (overlap(wide, target, source)) {
    copy_back(target, source);
  }
  return made;
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
  const Sizes sizes = output_sizes(call);
  if (transposed) {
    check_transposed(call, sizes);
  }
  Tensor out = make_image(sizes, input, layout);
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
      transposed_into(out, image, filter, g, layout);
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
    const Wide wide =
        wide_side(g, call.input.sizes(), grad_output.sizes(), filter.sizes());
    mudnn::convolve(
        grad_input,
        on_wide_side(wide, grad_output, layout),
        filter,
        wide.geometry,
        layout);
  } else {
    transposed_into(grad_input, grad_output, filter, g, layout);
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
    const Wide wide =
        wide_side(g, image.sizes(), grad_output.sizes(), grad_weight.sizes());
    mudnn::convolve_backward_filter(
        grad_weight,
        on_wide_side(wide, grad_output, layout),
        image,
        wide.geometry,
        layout);
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
  // Between grouped convolutions; a view and a copy upstream.
  registrar.native<&at::native::channel_shuffle>("channel_shuffle");
}

} // namespace torch_fl::ops
