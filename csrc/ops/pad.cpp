// SPDX-License-Identifier: Apache-2.0
// Borders by reflection and replication, on kernels of ours. Constant and
// circular ones are copies upstream.
#include "csrc/kernels/pad.h"

#include "csrc/ops/images.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/structured.h"
#include "csrc/routing/register.h"

#include <ATen/native/Padding.h>
#include <ATen/ops/reflection_pad1d_backward_meta.h>
#include <ATen/ops/reflection_pad1d_meta.h>
#include <ATen/ops/reflection_pad3d_backward_meta.h>
#include <ATen/ops/reflection_pad3d_meta.h>
#include <ATen/ops/replication_pad1d_backward_meta.h>
#include <ATen/ops/replication_pad1d_meta.h>
#include <ATen/ops/replication_pad2d_meta.h>
#include <ATen/ops/replication_pad3d_meta.h>
#include <ATen/ops/view_as_real.h>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::MemoryFormat;
using at::Tensor;

bool takes(at::ScalarType type, bool backward) {
  const at::ScalarType real = c10::toRealValueType(type);
  return has_kernel_type(real) && (!backward || at::isFloatingType(real));
}

// The real and the imaginary parts, as views.
Tensor part(const Tensor& complex, int64_t which) {
  return at::view_as_real(complex).select(-1, which);
}

FlPadding padding_of(FlPadKind kind, IntArrayRef pairs) {
  FlPadding padding{kind, {0, 0, 0}};
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    padding.before[2 - i] = static_cast<int32_t>(pairs[2 * i]);
  }
  return padding;
}

void forward(
    FlPadKind kind,
    const Tensor& self,
    IntArrayRef pairs,
    const Tensor& out) {
  if (out.numel() == 0) {
    return;
  }
  if (self.is_complex()) {
    forward(kind, part(self, 0), pairs, part(out, 0));
    forward(kind, part(self, 1), pairs, part(out, 1));
    return;
  }
  const auto spatial = static_cast<int64_t>(pairs.size() / 2);
  const FlImage result = image_output(out, spatial);
  const FlImage image = image_of(self, spatial);
  const FlPadding padding = padding_of(kind, pairs);
  FL_MUSA_CHECK(fl_pad(
      kernel_type(self.scalar_type()),
      &result,
      &image,
      &padding,
      kernel_stream()));
}

void backward(
    FlPadKind kind,
    const Tensor& grad,
    IntArrayRef pairs,
    const Tensor& grad_input) {
  if (grad_input.numel() == 0) {
    return;
  }
  if (grad_input.is_complex()) {
    backward(kind, part(grad, 0), pairs, part(grad_input, 0));
    backward(kind, part(grad, 1), pairs, part(grad_input, 1));
    return;
  }
  const auto spatial = static_cast<int64_t>(pairs.size() / 2);
  const FlImage result = image_output(grad_input, spatial);
  const FlImage gradient = image_of(grad, spatial);
  const FlPadding padding = padding_of(kind, pairs);
  FL_MUSA_CHECK(fl_pad_backward(
      kernel_type(grad.scalar_type()),
      &result,
      &gradient,
      &padding,
      kernel_stream()));
}

template <class Meta, FlPadKind kind>
struct Pad : Meta {
  static bool accepts(const Tensor& self, IntArrayRef /*padding*/) {
    return takes(self.scalar_type(), false);
  }
  void impl(const Tensor& self, IntArrayRef padding, const Tensor& out) {
    forward(kind, self, padding, out);
  }
};

template <class Meta, FlPadKind kind>
struct PadBackward : Meta {
  static bool
  accepts(const Tensor& /*grad*/, const Tensor& self, IntArrayRef /*padding*/) {
    return takes(self.scalar_type(), true);
  }
  void impl(
      const Tensor& grad,
      const Tensor& /*self*/,
      IntArrayRef padding,
      const Tensor& grad_input) {
    backward(kind, grad, padding, grad_input);
  }
};

// What has no structured class upstream: reflection_pad2d, and the backward
// passes in two dimensions and of replication_pad3d.
at::DimVector padded_sizes(const Tensor& self, IntArrayRef pairs) {
  at::DimVector sizes(self.sizes());
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    int64_t& size = sizes[sizes.size() - 1 - i];
    size += pairs[2 * i] + pairs[2 * i + 1];
  }
  return sizes;
}

at::DimVector reflected_sizes(const Tensor& self, IntArrayRef padding) {
  at::native::padding::check_valid_input<2>(self, padding);
  for (const int64_t i : {0, 1}) {
    const int64_t dim = self.dim() - 1 - i;
    const int64_t before = padding[static_cast<size_t>(2 * i)];
    const int64_t after = padding[static_cast<size_t>(2 * i) + 1];
    TORCH_CHECK(
        before < self.size(dim) && after < self.size(dim),
        "Argument #",
        4 + 2 * i,
        ": Padding size should be less than the corresponding input "
        "dimension, but got: padding (",
        before,
        ", ",
        after,
        ") at dimension ",
        dim,
        " of input ",
        self.sizes());
  }
  at::DimVector sizes = padded_sizes(self, padding);
  const int64_t height = sizes[sizes.size() - 2];
  const int64_t width = sizes[sizes.size() - 1];
  TORCH_CHECK(
      width >= 1 || height >= 1,
      "input (H: ",
      self.size(-2),
      ", W: ",
      self.size(-1),
      ") is too small. Calculated output H: ",
      height,
      " W: ",
      width);
  return sizes;
}

Tensor make_image(const Tensor& like, IntArrayRef sizes, int64_t spatial) {
  const auto layout = like.dim() == spatial + 2 ? like.suggest_memory_format()
                                                : MemoryFormat::Contiguous;
  return make_strided(sizes, {}, like.options().memory_format(layout));
}

Tensor& reflect_out(const Tensor& self, IntArrayRef padding, Tensor& out) {
  const at::DimVector sizes = reflected_sizes(self, padding);
  check_out(out, self.scalar_type(), self);
  if (!takes(self.scalar_type(), false)) {
    return routing::ToCpuByName<Tensor&(const Tensor&, IntArrayRef, Tensor&)>::
        call("reflection_pad2d.out", self, padding, out);
  }
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(out, sizes);
  forward(kFlReflect, self, padding, out);
  return out;
}

Tensor reflect(const Tensor& self, IntArrayRef padding) {
  const at::DimVector sizes = reflected_sizes(self, padding);
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_image(self, sizes, 2);
  reflect_out(self, padding, out);
  return out;
}

using Backward = Tensor&(const Tensor&, const Tensor&, IntArrayRef, Tensor&);

template <FlPadKind kind, int spatial>
constexpr const char* backward_name() {
  if constexpr (kind == kFlReflect) {
    return "reflection_pad2d_backward";
  } else {
    return spatial == 2 ? "replication_pad2d_backward"
                        : "replication_pad3d_backward";
  }
}

template <FlPadKind kind, int spatial>
Tensor& gradient_out(
    const Tensor& grad,
    const Tensor& self,
    IntArrayRef padding,
    Tensor& grad_input) {
  const char* const name = backward_name<kind, spatial>();
  at::native::padding::check_valid_input<spatial>(self, padding);
  check_same_device(self, grad);
  check_same_device(self, grad_input);
  const at::DimVector sizes = padded_sizes(self, padding);
  TORCH_CHECK(
      grad.sizes() == IntArrayRef(sizes),
      name,
      ": grad_output of unexpected sizes. Expected: ",
      IntArrayRef(sizes),
      ", Got: ",
      grad.sizes());
  TORCH_CHECK(
      grad.scalar_type() == self.scalar_type(),
      name,
      ": expected grad_output of dtype ",
      self.scalar_type(),
      ", got ",
      grad.scalar_type());
  if (!takes(self.scalar_type(), true)) {
    return routing::ToCpuByName<Backward>::call(
        (std::string(name) + ".grad_input").c_str(),
        grad,
        self,
        padding,
        grad_input);
  }
  const runtime::DeviceScope scope(self.device());
  at::native::resize_output(grad_input, self.sizes());
  backward(kind, grad, padding, grad_input);
  return grad_input;
}

template <FlPadKind kind, int spatial>
Tensor gradient(const Tensor& grad, const Tensor& self, IntArrayRef padding) {
  const runtime::DeviceScope scope(self.device());
  Tensor grad_input = make_image(self, self.sizes(), spatial);
  gradient_out<kind, spatial>(grad, self, padding, grad_input);
  return grad_input;
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  namespace meta = at::meta;
  routing::Registrar r(library);
  structured<Pad<meta::structured_reflection_pad1d, kFlReflect>>(
      r,
      "reflection_pad1d",
      nullptr,
      "reflection_pad1d.out");
  structured<
      PadBackward<meta::structured_reflection_pad1d_backward, kFlReflect>>(
      r,
      "reflection_pad1d_backward",
      nullptr,
      "reflection_pad1d_backward.grad_input");
  structured<Pad<meta::structured_reflection_pad3d, kFlReflect>>(
      r,
      "reflection_pad3d",
      nullptr,
      "reflection_pad3d.out");
  structured<
      PadBackward<meta::structured_reflection_pad3d_backward, kFlReflect>>(
      r,
      "reflection_pad3d_backward",
      nullptr,
      "reflection_pad3d_backward.grad_input");
  structured<Pad<meta::structured_replication_pad1d, kFlReplicate>>(
      r,
      "replication_pad1d",
      nullptr,
      "replication_pad1d.out");
  structured<
      PadBackward<meta::structured_replication_pad1d_backward, kFlReplicate>>(
      r,
      "replication_pad1d_backward",
      nullptr,
      "replication_pad1d_backward.grad_input");
  structured<Pad<meta::structured_replication_pad2d, kFlReplicate>>(
      r,
      "replication_pad2d",
      nullptr,
      "replication_pad2d.out");
  structured<Pad<meta::structured_replication_pad3d, kFlReplicate>>(
      r,
      "replication_pad3d",
      nullptr,
      "replication_pad3d.out");
  r.native<&reflect>("reflection_pad2d");
  r.native<&reflect_out>("reflection_pad2d.out");
  r.native<&gradient<kFlReflect, 2>>("reflection_pad2d_backward");
  r.native<&gradient_out<kFlReflect, 2>>(
      "reflection_pad2d_backward.grad_input");
  r.native<&gradient<kFlReplicate, 2>>("replication_pad2d_backward");
  r.native<&gradient_out<kFlReplicate, 2>>(
      "replication_pad2d_backward.grad_input");
  r.native<&gradient<kFlReplicate, 3>>("replication_pad3d_backward");
  r.native<&gradient_out<kFlReplicate, 3>>(
      "replication_pad3d_backward.grad_input");
}

} // namespace torch_fl::ops
