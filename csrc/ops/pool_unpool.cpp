// SPDX-License-Identifier: Apache-2.0
// The inverse of pooling by maxima, on muDNN's Scatter.
#include "csrc/mudnn/dtype.h"
#include "csrc/mudnn/pooling.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/Context.h>
#include <ATen/native/Resize.h>

#include <algorithm>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::Tensor;

at::DimVector checked_sizes(
    int64_t spatial,
    const Tensor& self,
    const Tensor& indices,
    IntArrayRef output_size) {
  const bool deep = spatial == 3;
  TORCH_CHECK(
      indices.scalar_type() == at::kLong,
      "elements in indices should be type int64 but got: ",
      indices.scalar_type());
  TORCH_CHECK(
      static_cast<int64_t>(output_size.size()) == spatial,
      "There should be exactly ",
      deep ? "three elements (depth, height, width)"
           : "two elements (height, width)",
      " in output_size, but got ",
      output_size.size(),
      " elements.");
  TORCH_CHECK(
      self.dim() == spatial + 1 || self.dim() == spatial + 2,
      "Input to max_unpooling",
      spatial,
      "d should be a ",
      spatial + 1,
      "d or ",
      spatial + 2,
      "d Tensor, but got a tensor with ",
      self.dim(),
      " dimensions.");
  TORCH_CHECK(
      self.sizes() == indices.sizes(),
      "Expected shape of indices to be same as that of the input tensor (",
      self.sizes(),
      ") but got indices tensor with shape: ",
      indices.sizes());
  for (int64_t i = 1; i < self.dim(); ++i) {
    TORCH_CHECK(
        self.size(i) > 0,
        "max_unpooling",
        spatial,
        "d_forward_out(): Expected input to have non-zero size for non-batch "
        "dimensions, but got ",
        self.sizes(),
        " with dimension ",
        i,
        " being empty.");
  }
  check_same_device(self, indices);
  at::DimVector sizes(self.sizes().begin(), self.sizes().end() - spatial);
  sizes.append(output_size.begin(), output_size.end());
  return sizes;
}

void unpool_into(
    int64_t spatial,
    const Tensor& self,
    const Tensor& indices,
    const Tensor& out) {
  // With equal positions, as upstream says it.
  at::globalContext().alertNotDeterministic(
      spatial == 2 ? "max_unpooling2d_forward_out"
                   : "max_unpooling3d_forward_out");
  out.zero_();
  if (self.numel() == 0 || out.numel() == 0) {
    return;
  }
  // Scatter wants dense operands (quirk 74).
  const Tensor target =
      out.is_contiguous() ? out : make_dense_like(out).zero_();
  mudnn::max_unpool(
      target,
      self.contiguous(),
      indices.contiguous(),
      self.dim() == spatial + 2 ? self.size(0) * self.size(1) : self.size(0));
  if (!target.is_same(out)) {
    copy_back(out, target);
  }
}

Tensor make_out(const Tensor& self, int64_t spatial, IntArrayRef sizes) {
  const auto layout = self.dim() == spatial + 2 ? self.suggest_memory_format()
                                                : at::MemoryFormat::Contiguous;
  return make_strided(sizes, {}, self.options().memory_format(layout));
}

Tensor& unpool_2d_out(
    const Tensor& self,
    const Tensor& indices,
    IntArrayRef output_size,
    Tensor& out) {
  const at::DimVector sizes = checked_sizes(2, self, indices, output_size);
  check_out(out, self.scalar_type(), self);
  if (!mudnn::has_dnn_type(self.scalar_type())) {
    return routing::ToCpuByName<
        Tensor&(const Tensor&, const Tensor&, IntArrayRef, Tensor&)>::
        call("max_unpool2d.out", self, indices, output_size, out);
  }
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(out, sizes);
  unpool_into(2, self, indices, out);
  return out;
}

Tensor
unpool_2d(const Tensor& self, const Tensor& indices, IntArrayRef output_size) {
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_out(self, 2, checked_sizes(2, self, indices, output_size));
  unpool_2d_out(self, indices, output_size, out);
  return out;
}

void check_windows(IntArrayRef stride, IntArrayRef padding) {
  TORCH_CHECK(
      stride.size() == 3,
      "There should be exactly three elements (depth, height, width) in "
      "stride, but got: ",
      stride.size(),
      " elements.");
  TORCH_CHECK(
      padding.size() == 3,
      "There should be exactly three elements (depth, height, width) in "
      "padding, but got: ",
      padding.size(),
      " elements.");
  TORCH_CHECK(
      std::all_of(
          stride.begin(),
          stride.end(),
          [](int64_t s) { return s > 0; }),
      "strides should be greater than zero, but got stride: ",
      stride);
}

Tensor& unpool_3d_out(
    const Tensor& self,
    const Tensor& indices,
    IntArrayRef output_size,
    IntArrayRef stride,
    IntArrayRef padding,
    Tensor& out) {
  check_windows(stride, padding);
  const at::DimVector sizes = checked_sizes(3, self, indices, output_size);
  check_out(out, self.scalar_type(), self);
  if (!mudnn::has_dnn_type(self.scalar_type())) {
    return routing::ToCpuByName<Tensor&(
        const Tensor&,
        const Tensor&,
        IntArrayRef,
        IntArrayRef,
        IntArrayRef,
        Tensor&)>::
        call(
            "max_unpool3d.out",
            self,
            indices,
            output_size,
            stride,
            padding,
            out);
  }
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(out, sizes);
  unpool_into(3, self, indices, out);
  return out;
}

Tensor unpool_3d(
    const Tensor& self,
    const Tensor& indices,
    IntArrayRef output_size,
    IntArrayRef stride,
    IntArrayRef padding) {
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_out(self, 3, checked_sizes(3, self, indices, output_size));
  unpool_3d_out(self, indices, output_size, stride, padding, out);
  return out;
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&unpool_2d>("max_unpool2d");
  r.native<&unpool_2d_out>("max_unpool2d.out");
  r.native<&unpool_3d>("max_unpool3d");
  r.native<&unpool_3d_out>("max_unpool3d.out");
}

} // namespace torch_fl::ops
