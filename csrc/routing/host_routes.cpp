// SPDX-License-Identifier: Apache-2.0
// CPU routes of operators that the boxed fallback cannot serve: torch takes
// them on this device only, and their CPU kernels raise.
#include "csrc/routing/register.h"

#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/convolution_ops.h>

#include <array>
#include <tuple>

namespace torch_fl::routing {

namespace {

using at::IntArrayRef;
using at::Tensor;

// The operator that the call was made from has CPU kernels.
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
  return to_cpu<at::_ops::convolution>::call(
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
  const int64_t channels = grad_output.size(1);
  return to_cpu<at::_ops::convolution_backward>::call(
      grad_output,
      input,
      weight,
      output_mask[2] ? at::OptionalIntArrayRef(IntArrayRef(channels))
                     : at::OptionalIntArrayRef(),
      stride,
      padding,
      dilation,
      transposed,
      output_padding,
      groups,
      output_mask);
}

// Whether no native kernel is registered, by the build or by the routes.
bool is_left_out(const char* op) {
  return FLAGOS_BUILD_VENDOR == 0 || !is_native(op);
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  if (is_left_out("convolution_overrideable")) {
    library.impl("convolution_overrideable", TORCH_FN(convolution));
  }
  if (is_left_out("convolution_backward_overrideable")) {
    library.impl(
        "convolution_backward_overrideable",
        TORCH_FN(convolution_backward));
  }
}

} // namespace torch_fl::routing
