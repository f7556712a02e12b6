// SPDX-License-Identifier: Apache-2.0
// Images resized: nearest, linear, cubic, and with filters against aliasing; on
// kernels of ours.
#include "csrc/kernels/upsample.h"

#include "csrc/ops/images.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/structured.h"
#include "csrc/routing/register.h"

#include <ATen/native/UpSample.h>
#include <ATen/ops/_upsample_bicubic2d_aa_backward_meta.h>
#include <ATen/ops/_upsample_bicubic2d_aa_meta.h>
#include <ATen/ops/_upsample_bilinear2d_aa_backward_meta.h>
#include <ATen/ops/_upsample_bilinear2d_aa_meta.h>
#include <ATen/ops/_upsample_nearest_exact1d_backward_meta.h>
#include <ATen/ops/_upsample_nearest_exact1d_meta.h>
#include <ATen/ops/_upsample_nearest_exact2d_backward_meta.h>
#include <ATen/ops/_upsample_nearest_exact2d_meta.h>
#include <ATen/ops/_upsample_nearest_exact3d_backward_meta.h>
#include <ATen/ops/_upsample_nearest_exact3d_meta.h>
#include <ATen/ops/upsample_bicubic2d_backward_meta.h>
#include <ATen/ops/upsample_bicubic2d_meta.h>
#include <ATen/ops/upsample_bilinear2d_backward_meta.h>
#include <ATen/ops/upsample_bilinear2d_meta.h>
#include <ATen/ops/upsample_linear1d_backward_meta.h>
#include <ATen/ops/upsample_linear1d_meta.h>
#include <ATen/ops/upsample_nearest1d_backward_meta.h>
#include <ATen/ops/upsample_nearest1d_meta.h>
#include <ATen/ops/upsample_nearest2d_backward_meta.h>
#include <ATen/ops/upsample_nearest2d_meta.h>
#include <ATen/ops/upsample_nearest3d_backward_meta.h>
#include <ATen/ops/upsample_nearest3d_meta.h>
#include <ATen/ops/upsample_trilinear3d_backward_meta.h>
#include <ATen/ops/upsample_trilinear3d_meta.h>
#if __has_include(<ATen/ops/_upsample_lanczos2d_aa_meta.h>)
#define FL_HAS_LANCZOS 1
#include <ATen/ops/_upsample_lanczos2d_aa_backward_meta.h>
#include <ATen/ops/_upsample_lanczos2d_aa_meta.h>
#endif

#include <c10/util/SmallVector.h>

#include <optional>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::Tensor;

// What the schemas have in common; sizes are those of the tensors.
struct Request {
  const Tensor* tensor = nullptr;
  bool align_corners = false;
  c10::SmallVector<std::optional<double>, 3> scales;

  void take(const Tensor& t) { tensor = &t; }
  void take(IntArrayRef /*sizes*/) {}
  void take(bool align) { align_corners = align; }
  void take(std::optional<double> scale) { scales.push_back(scale); }
};

// Steps of the input per step of the output, rounded as the CPU does. The
// nearest ones do not look at align_corners.
double scale_of(
    const Request& request,
    size_t i,
    int64_t in,
    int64_t out,
    bool in_double) {
  const auto compute = [&](auto zero) -> double {
    using C = decltype(zero);
    return static_cast<double>(at::native::area_pixel_compute_scale<C>(
        in,
        out,
        request.align_corners,
        request.scales[i]));
  };
  return in_double ? compute(0.0) : compute(0.0F);
}

// The tensors of an operator: `wide` is the resized one or its gradient.
struct Sides {
  const Tensor& narrow;
  const Tensor& wide;
  const Tensor& written;

  int64_t spatial() const { return narrow.dim() - 2; }
  FlImage image(const Tensor& t) const {
    return t.is_same(written) ? image_output(t, spatial())
                              : image_of(t, spatial());
  }
};

template <FlSampleKind kind>
struct Sampled {
  static bool takes(at::ScalarType type, bool backward) {
    return has_kernel_type(type) &&
        (at::isFloatingType(type) ||
         (!backward && (kind == kFlNearest || kind == kFlNearestExact)));
  }
  static void run(const Request& request, const Sides& s, bool backward) {
    const at::ScalarType type = s.written.scalar_type();
    FlSampling sampling{};
    sampling.kind = kind;
    sampling.align_corners = request.align_corners ? 1 : 0;
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t own = i - (3 - s.spatial());
      sampling.scale[i] = own < 0 ? 1.0
                                  : scale_of(
                                        request,
                                        static_cast<size_t>(own),
                                        s.narrow.size(own + 2),
                                        s.wide.size(own + 2),
                                        type == at::kDouble);
    }
    const FlImage narrow = s.image(s.narrow);
    const FlImage wide = s.image(s.wide);
    FL_MUSA_CHECK(
        backward ? fl_upsample_backward(
                       kernel_type(type),
                       &narrow,
                       &wide,
                       &sampling,
                       kernel_stream())
                 : fl_upsample(
                       kernel_type(type),
                       &wide,
                       &narrow,
                       &sampling,
                       kernel_stream()));
  }
};

// A dimension at a time, the width first and its gradient last.
template <FlFilterKind kind>
struct Filtered {
  static bool takes(at::ScalarType type, bool /*backward*/) {
    return has_kernel_type(type) && at::isFloatingType(type);
  }
  static void
  pass(const Request& request, const Sides& s, int32_t axis, bool backward) {
    const at::ScalarType type = s.written.scalar_type();
    const int64_t dim = axis + 1; // of depth, height, width
    const FlFilter filter{
        kind,
        axis,
        scale_of(
            request,
            static_cast<size_t>(axis) - 1,
            s.narrow.size(dim),
            s.wide.size(dim),
            type == at::kDouble)};
    const FlImage narrow = s.image(s.narrow);
    const FlImage wide = s.image(s.wide);
    FL_MUSA_CHECK(
        backward ? fl_filter_backward(
                       kernel_type(type),
                       &narrow,
                       &wide,
                       &filter,
                       kernel_stream())
                 : fl_filter(
                       kernel_type(type),
                       &wide,
                       &narrow,
                       &filter,
                       kernel_stream()));
  }
  static void run(const Request& request, const Sides& s, bool backward) {
    const Tensor between = make_strided(
        {s.narrow.size(0), s.narrow.size(1), s.narrow.size(2), s.wide.size(3)},
        {},
        s.written.options().memory_format(s.written.suggest_memory_format()));
    if (backward) {
      pass(request, {between, s.wide, between}, 1, true);
      pass(request, {s.narrow, between, s.narrow}, 2, true);
    } else {
      pass(request, {s.narrow, between, between}, 2, false);
      pass(request, {between, s.wide, s.wide}, 1, false);
    }
  }
};

// The operator of a structured class, from its arguments' types.
template <
    class Meta,
    class Rule,
    bool backward,
    class Fn = decltype(&Meta::meta)>
struct Resize;
template <class Meta, class Rule, bool backward, class R, class M, class... A>
struct Resize<Meta, Rule, backward, R (M::*)(A...)> : Meta {
  bool accepts(A... args) {
    return Rule::takes(request_of(args...).tensor->scalar_type(), backward);
  }
  void impl(A... args, const Tensor& out) {
    if (out.numel() == 0) {
      return;
    }
    const Request request = request_of(args...);
    const Tensor& given = *request.tensor;
    if (backward) {
      Rule::run(request, {out, given, out}, true);
    } else {
      Rule::run(request, {given, out, out}, false);
    }
  }

 private:
  static Request request_of(A... args) {
    Request request;
    (request.take(args), ...);
    return request;
  }
};

template <class Meta, class Rule>
void forward(routing::Registrar& r, const char* functional, const char* out) {
  structured<Resize<Meta, Rule, false>>(r, functional, nullptr, out);
}
template <class Meta, class Rule>
void backward(
    routing::Registrar& r,
    const char* functional,
    const char* grad_input) {
  structured<Resize<Meta, Rule, true>>(r, functional, nullptr, grad_input);
}

} // namespace

#define FL_RESIZE(name, ...)                                                 \
  forward<at::meta::structured_##name, __VA_ARGS__>(r, #name, #name ".out"); \
  backward<at::meta::structured_##name##_backward, __VA_ARGS__>(             \
      r,                                                                     \
      #name "_backward",                                                     \
      #name "_backward.grad_input")

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  FL_RESIZE(upsample_nearest1d, Sampled<kFlNearest>);
  FL_RESIZE(upsample_nearest2d, Sampled<kFlNearest>);
  FL_RESIZE(upsample_nearest3d, Sampled<kFlNearest>);
  FL_RESIZE(_upsample_nearest_exact1d, Sampled<kFlNearestExact>);
  FL_RESIZE(_upsample_nearest_exact2d, Sampled<kFlNearestExact>);
  FL_RESIZE(_upsample_nearest_exact3d, Sampled<kFlNearestExact>);
  FL_RESIZE(upsample_linear1d, Sampled<kFlLinear>);
  FL_RESIZE(upsample_bilinear2d, Sampled<kFlLinear>);
  FL_RESIZE(upsample_trilinear3d, Sampled<kFlLinear>);
  FL_RESIZE(upsample_bicubic2d, Sampled<kFlCubic>);
  FL_RESIZE(_upsample_bilinear2d_aa, Filtered<kFlTriangle>);
  FL_RESIZE(_upsample_bicubic2d_aa, Filtered<kFlCubicFilter>);
#ifdef FL_HAS_LANCZOS
  FL_RESIZE(_upsample_lanczos2d_aa, Filtered<kFlLanczos>);
#endif
}

#undef FL_RESIZE

} // namespace torch_fl::ops
