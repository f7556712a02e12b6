// SPDX-License-Identifier: Apache-2.0
// Images sampled at the points of a grid, on kernels of ours. The gradient of
// the image sums sorted segments: no atomics, so that it repeats.
#include "csrc/kernels/grid.h"

#include "csrc/ops/images.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/native/GridSamplerUtils.h>
#include <ATen/ops/grid_sampler_2d_backward_ops.h>
#include <ATen/ops/grid_sampler_2d_ops.h>
#include <ATen/ops/grid_sampler_3d_backward_ops.h>
#include <ATen/ops/grid_sampler_3d_ops.h>
#include <ATen/ops/sort_ops.h>

#include <array>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Tensor;

struct Call {
  int64_t mode;
  int64_t padding;
  bool align_corners;
};

bool takes(const Tensor& input) {
  return has_kernel_type(input.scalar_type()) &&
      at::isFloatingType(input.scalar_type());
}

template <int spatial>
void check(const Tensor& input, const Tensor& grid, const Call& call) {
  at::native::check_grid_sampler_common(input, grid);
  if constexpr (spatial == 2) {
    at::native::check_grid_sampler_2d(input, grid);
  } else {
    at::native::check_grid_sampler_3d(input, grid, call.mode);
  }
  TORCH_CHECK(
      input.scalar_type() == grid.scalar_type(),
      "grid_sampler(): expected input and grid to have same dtype, but input "
      "has ",
      input.scalar_type(),
      " and grid has ",
      grid.scalar_type());
  TORCH_CHECK(
      call.mode >= 0 && call.mode <= 2 && call.padding >= 0 &&
          call.padding <= 2,
      "grid_sampler(): unknown interpolation or padding mode");
}

// Upstream counts bilinear, nearest, bicubic; zeros, border, reflection.
FlGrid grid_of(const Tensor& grid, const Call& call, bool written = false) {
  FlGrid made{};
  made.rank = static_cast<int32_t>(grid.dim()) - 2;
  made.mode = static_cast<FlGridMode>(call.mode);
  made.padding = static_cast<FlGridPadding>(call.padding);
  made.align_corners = call.align_corners ? 1 : 0;
  made.address = written
      ? grid.unsafeGetTensorImpl()->mutable_data()
      : const_cast<void*>(grid.unsafeGetTensorImpl()->data());
  made.strides[0] = grid.stride(0);
  for (int64_t i = 0; i < made.rank; ++i) {
    made.strides[4 - made.rank + i] = grid.stride(1 + i);
  }
  made.strides[4] = grid.stride(-1);
  return made;
}

Tensor make_image(const Tensor& like, at::IntArrayRef sizes) {
  return make_strided(
      sizes,
      {},
      like.options().memory_format(like.suggest_memory_format()));
}

template <int spatial>
using Op = std::conditional_t<
    spatial == 2,
    at::_ops::grid_sampler_2d,
    at::_ops::grid_sampler_3d>;
template <int spatial>
using BackwardOp = std::conditional_t<
    spatial == 2,
    at::_ops::grid_sampler_2d_backward,
    at::_ops::grid_sampler_3d_backward>;

template <int spatial>
Tensor sample(
    const Tensor& input,
    const Tensor& grid,
    int64_t mode,
    int64_t padding,
    bool align_corners) {
  const Call call{mode, padding, align_corners};
  check<spatial>(input, grid, call);
  if (!takes(input)) {
    return routing::to_cpu<Op<spatial>>::call(
        input,
        grid,
        mode,
        padding,
        align_corners);
  }
  const runtime::DeviceScope scope(input.device());
  at::DimVector sizes = {input.size(0), input.size(1)};
  for (int64_t i = 1; i <= spatial; ++i) {
    sizes.push_back(grid.size(i));
  }
  Tensor out = make_image(input, sizes);
  if (out.numel() == 0) {
    return out;
  }
  const FlImage result = image_output(out, spatial);
  const FlImage image = image_of(input, spatial);
  const FlGrid points = grid_of(grid, call);
  FL_MUSA_CHECK(fl_grid_sample(
      kernel_type(input.scalar_type()),
      &result,
      &image,
      &points,
      kernel_stream()));
  return out;
}

// The taps of all points, sorted by their pixels.
struct Segments {
  Tensor weights;
  Tensor order;
  Tensor starts;
};

Segments segments_of(
    const FlImage& gradient,
    const FlImage& image,
    const FlGrid& points,
    at::ScalarType type) {
  const int64_t pixels =
      image.sizes[0] * image.sizes[2] * image.sizes[3] * image.sizes[4];
  const int64_t taps = gradient.sizes[0] * gradient.sizes[2] *
      gradient.sizes[3] * gradient.sizes[4] * fl_grid_tap_count(&points);
  const Tensor keys = make_dense({taps}, at::kLong);
  Segments made;
  made.weights =
      make_dense({taps}, type == at::kDouble ? at::kDouble : at::kFloat);
  FL_MUSA_CHECK(fl_grid_taps(
      kernel_type(type),
      keys.mutable_data_ptr<int64_t>(),
      made.weights.unsafeGetTensorImpl()->mutable_data(),
      &gradient,
      &image,
      &points,
      kernel_stream()));
  Tensor sorted;
  std::tie(sorted, made.order) =
      at::_ops::sort_stable::call(keys, /*stable=*/true, 0, false);
  made.starts = make_dense({pixels + 1}, at::kLong);
  FL_MUSA_CHECK(fl_grid_starts(
      made.starts.mutable_data_ptr<int64_t>(),
      pixels,
      sorted.const_data_ptr<int64_t>(),
      taps,
      kernel_stream()));
  return made;
}

template <int spatial>
Tensor input_gradient(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& grid,
    const Call& call) {
  Tensor grad_input = make_image(input, input.sizes());
  if (grad_input.numel() == 0 || grad.numel() == 0) {
    return grad_input.zero_();
  }
  const FlImage gradient = image_of(grad, spatial);
  const FlImage result = image_output(grad_input, spatial);
  const FlGrid points = grid_of(grid, call);
  const Segments segments =
      segments_of(gradient, result, points, input.scalar_type());
  FL_MUSA_CHECK(fl_grid_sum(
      kernel_type(input.scalar_type()),
      &result,
      &gradient,
      segments.starts.const_data_ptr<int64_t>(),
      segments.order.const_data_ptr<int64_t>(),
      segments.weights.unsafeGetTensorImpl()->data(),
      fl_grid_tap_count(&points),
      kernel_stream()));
  return grad_input;
}

template <int spatial>
Tensor grid_gradient(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& grid,
    const Call& call) {
  Tensor grad_grid = make_dense_like(grid);
  if (grad_grid.numel() == 0) {
    return grad_grid;
  }
  if (grad.numel() == 0) {
    return grad_grid.zero_();
  }
  const FlGrid result = grid_of(grad_grid, call, true);
  const FlImage gradient = image_of(grad, spatial);
  const FlImage image = image_of(input, spatial);
  const FlGrid points = grid_of(grid, call);
  FL_MUSA_CHECK(fl_grid_gradient(
      kernel_type(input.scalar_type()),
      &result,
      &gradient,
      &image,
      &points,
      kernel_stream()));
  return grad_grid;
}

template <int spatial>
std::tuple<Tensor, Tensor> backward(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& grid,
    int64_t mode,
    int64_t padding,
    bool align_corners,
    std::array<bool, 2> output_mask) {
  const Call call{mode, padding, align_corners};
  check<spatial>(input, grid, call);
  check_same_device(input, grad);
  TORCH_CHECK(
      grad.scalar_type() == input.scalar_type(),
      "grid_sampler(): expected grad_output of dtype ",
      input.scalar_type(),
      ", got ",
      grad.scalar_type());
  if (!takes(input)) {
    return routing::to_cpu<BackwardOp<spatial>>::call(
        grad,
        input,
        grid,
        mode,
        padding,
        align_corners,
        output_mask);
  }
  const runtime::DeviceScope scope(input.device());
  return {
      output_mask[0] ? input_gradient<spatial>(grad, input, grid, call)
                     : Tensor(),
      output_mask[1] ? grid_gradient<spatial>(grad, input, grid, call)
                     : Tensor()};
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&sample<2>>("grid_sampler_2d");
  r.native<&sample<3>>("grid_sampler_3d");
  r.native<&backward<2>>("grid_sampler_2d_backward");
  r.native<&backward<3>>("grid_sampler_3d_backward");
}

} // namespace torch_fl::ops
