// SPDX-License-Identifier: Apache-2.0
// Images as columns of patches and back, on kernels of ours; channels shuffled.
#include "csrc/kernels/pad.h"

#include "csrc/ops/images.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/native/Resize.h>
#include <ATen/native/im2col_shape_check.h>
#include <ATen/ops/view_as_real.h>

#include <algorithm>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::Tensor;

struct Call {
  const char* name;
  IntArrayRef kernel;
  IntArrayRef dilation;
  IntArrayRef padding;
  IntArrayRef stride;

  void check() const {
    const auto pair = [this](IntArrayRef values, const char* what) {
      TORCH_CHECK(
          values.size() == 2,
          "It is expected ",
          what,
          " equals to 2, but got size ",
          values.size(),
          " (",
          name,
          ")");
    };
    pair(kernel, "kernel_size");
    pair(dilation, "dilation");
    pair(padding, "padding");
    pair(stride, "stride");
  }
  FlPatches patches() const {
    FlPatches p{};
    for (size_t i = 0; i < 2; ++i) {
      p.kernel[i] = static_cast<int32_t>(kernel[i]);
      p.stride[i] = static_cast<int32_t>(stride[i]);
      p.padding[i] = static_cast<int32_t>(padding[i]);
      p.dilation[i] = static_cast<int32_t>(dilation[i]);
    }
    return p;
  }
  // Patches along a dimension of an image.
  int64_t count(int64_t size, size_t i) const {
    return (size + 2 * padding[i] - (dilation[i] * (kernel[i] - 1) + 1)) /
        stride[i] +
        1;
  }
};

// The columns' last dimension is rows x patches in a row.
FlImage columns_of(FlImage columns, int64_t rows, int64_t row_length) {
  columns.sizes[3] = rows;
  columns.sizes[4] = row_length;
  columns.strides[3] = columns.strides[4] * row_length;
  return columns;
}

Tensor part(const Tensor& complex, int64_t which) {
  return at::view_as_real(complex).select(-1, which);
}

bool takes(at::ScalarType type, bool sums) {
  const at::ScalarType real = c10::toRealValueType(type);
  return has_kernel_type(real) && (!sums || at::isFloatingType(real));
}

void cut(const Call& call, const Tensor& image, const Tensor& columns) {
  if (columns.numel() == 0) {
    return;
  }
  if (image.is_complex()) {
    cut(call, part(image, 0), part(columns, 0));
    cut(call, part(image, 1), part(columns, 1));
    return;
  }
  const FlImage out = columns_of(
      image_output(columns, 1),
      call.count(image.size(-2), 0),
      call.count(image.size(-1), 1));
  const FlImage in = image_of(image, 2);
  const FlPatches patches = call.patches();
  FL_MUSA_CHECK(fl_patches(
      kernel_type(image.scalar_type()),
      &out,
      &in,
      &patches,
      kernel_stream()));
}

void sum(const Call& call, const Tensor& columns, const Tensor& image) {
  if (image.numel() == 0) {
    return;
  }
  if (image.is_complex()) {
    sum(call, part(columns, 0), part(image, 0));
    sum(call, part(columns, 1), part(image, 1));
    return;
  }
  const FlImage in = columns_of(
      image_of(columns, 1),
      call.count(image.size(-2), 0),
      call.count(image.size(-1), 1));
  const FlImage out = image_output(image, 2);
  const FlPatches patches = call.patches();
  FL_MUSA_CHECK(fl_patches_sum(
      kernel_type(image.scalar_type()),
      &out,
      &in,
      &patches,
      kernel_stream()));
}

void prepare(const Tensor& from, Tensor& to, IntArrayRef sizes) {
  check_out(to, from.scalar_type(), from);
  at::native::resize_output(to, sizes);
}

Tensor& im2col_out(
    const Tensor& self,
    IntArrayRef kernel,
    IntArrayRef dilation,
    IntArrayRef padding,
    IntArrayRef stride,
    Tensor& out) {
  const Call call{"im2col", kernel, dilation, padding, stride};
  call.check();
  TORCH_CHECK(
      self.dim() == 3 || self.dim() == 4,
      "Expected 3D or 4D (batch mode) tensor for input, but got: ",
      self.sizes());
  at::native::im2col_shape_check(
      self.dim() == 3 ? self.unsqueeze(0) : self,
      Tensor(),
      kernel[0],
      kernel[1],
      dilation[0],
      dilation[1],
      padding[0],
      padding[1],
      stride[0],
      stride[1]);
  if (!takes(self.scalar_type(), false)) {
    return routing::ToCpuByName<Tensor&(
        const Tensor&,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        Tensor&)>::
        call("im2col.out", self, kernel, dilation, padding, stride, out);
  }
  const runtime::DeviceScope scope(self.device());
  at::DimVector sizes(self.sizes().begin(), self.sizes().end() - 3);
  sizes.push_back(self.size(-3) * kernel[0] * kernel[1]);
  sizes.push_back(call.count(self.size(-2), 0) * call.count(self.size(-1), 1));
  prepare(self, out, sizes);
  cut(call, self, out);
  return out;
}

Tensor im2col(
    const Tensor& self,
    IntArrayRef kernel,
    IntArrayRef dilation,
    IntArrayRef padding,
    IntArrayRef stride) {
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_dense({0}, self.scalar_type());
  im2col_out(self, kernel, dilation, padding, stride, out);
  return out;
}

Tensor& col2im_out(
    const Tensor& self,
    IntArrayRef output_size,
    IntArrayRef kernel,
    IntArrayRef dilation,
    IntArrayRef padding,
    IntArrayRef stride,
    Tensor& out) {
  const Call call{"col2im", kernel, dilation, padding, stride};
  call.check();
  TORCH_CHECK(
      output_size.size() == 2,
      "It is expected output_size equals to 2, but got size ",
      output_size.size());
  at::native::col2im_shape_check(
      self,
      Tensor(),
      output_size[0],
      output_size[1],
      kernel[0],
      kernel[1],
      dilation[0],
      dilation[1],
      padding[0],
      padding[1],
      stride[0],
      stride[1]);
  if (!takes(self.scalar_type(), true)) {
    return routing::ToCpuByName<Tensor&(
        const Tensor&,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        Tensor&)>::
        call(
            "col2im.out",
            self,
            output_size,
            kernel,
            dilation,
            padding,
            stride,
            out);
  }
  const runtime::DeviceScope scope(self.device());
  at::DimVector sizes(self.sizes().begin(), self.sizes().end() - 2);
  sizes.push_back(self.size(-2) / (kernel[0] * kernel[1]));
  sizes.append(output_size.begin(), output_size.end());
  prepare(self, out, sizes);
  sum(call, self, out);
  return out;
}

Tensor col2im(
    const Tensor& self,
    IntArrayRef output_size,
    IntArrayRef kernel,
    IntArrayRef dilation,
    IntArrayRef padding,
    IntArrayRef stride) {
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_dense({0}, self.scalar_type());
  col2im_out(self, output_size, kernel, dilation, padding, stride, out);
  return out;
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&im2col>("im2col");
  r.native<&im2col_out>("im2col.out");
  r.native<&col2im>("col2im");
  r.native<&col2im_out>("col2im.out");
}

} // namespace torch_fl::ops
