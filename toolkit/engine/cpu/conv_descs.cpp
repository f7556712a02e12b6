// SPDX-License-Identifier: Apache-2.0
// Convolutions in oneDNN's terms.
#include "toolkit/engine/cpu/conv_descs.h"

#include <cstddef>
#include <cstdint>

namespace musa_standin::engine::cpu {
namespace {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
constexpr auto kFloat = dnnl::memory::data_type::f32;

// The spatial ones of an array of depth, height and width.
Dims spatial(const ConvShape& s, const int64_t (&all)[kMaxSpatial]) {
  return {all + (kMaxSpatial - s.spatial), all + kMaxSpatial};
}

Dims join(Dims dims, const Dims& rest) {
  dims.insert(dims.end(), rest.begin(), rest.end());
  return dims;
}

// Strides of the spatial dimensions whose last one is `step`.
Dims spatial_strides(const Dims& dims, int64_t step) {
  Dims strides(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  return strides;
}

// The caller's order; of `total` channels.
Desc image_desc(
    const ConvShape& s,
    int64_t channels,
    int64_t total,
    const int64_t (&all)[kMaxSpatial]) {
  const Dims positions = spatial(s, all);
  const int64_t plane = all[0] * all[1] * all[2];
  const bool last = s.images == ImageOrder::kChannelsLast;
  const Dims strides = join(
      {total * plane, last ? 1 : plane},
      spatial_strides(positions, last ? total : 1));
  return {join({s.n, channels}, positions), kFloat, strides};
}

Dims filter_dims(const ConvShape& s) {
  const int64_t ic = s.ic / s.groups;
  const Dims first =
      s.groups == 1 ? Dims{s.oc, ic} : Dims{s.groups, s.oc / s.groups, ic};
  return join(first, spatial(s, s.kernel));
}

// The caller's order.
Desc filter_desc(const ConvShape& s) {
  const int64_t ic = s.in_channels / s.groups;
  const int64_t oc = s.out_channels;
  const Dims kernel = spatial(s, s.kernel);
  Dims strides;
  switch (s.filter) {
  case FilterOrder::kChannelsFirst:
    strides = join({ic * s.taps(), s.taps()}, spatial_strides(kernel, 1));
    break;
  case FilterOrder::kChannelsLast:
    strides = join({ic * s.taps(), 1}, spatial_strides(kernel, ic));
    break;
  case FilterOrder::kSpatialFirst:
    strides = join({1, oc}, spatial_strides(kernel, ic * oc));
    break;
  }
  if (s.groups != 1)
    strides.insert(strides.begin(), strides[0] * (s.oc / s.groups));
  return {filter_dims(s), kFloat, strides};
}

// How oneDNN shall see the images, by what was measured with oneDNN 3.2 on
// AVX-512 (reorders included): its own choice of channel blocks wins in
// general; channels last for many channels on small images; the plain order,
// which takes im2col and sgemm, for the gradient of images with few channels
// or of a strided 1x1 filter.
Tag image_tag(const ConvShape& s) {
  const Tag first = s.spatial == 2 ? Tag::nchw : Tag::ncdhw;
  const Tag last = s.spatial == 2 ? Tag::nhwc : Tag::ndhwc;
  if (s.images == ImageOrder::kChannelsLast)
    return last;
  if (s.groups != 1)
    return Tag::any;
  const bool strided = s.stride[0] > 1 || s.stride[1] > 1 || s.stride[2] > 1;
  if (s.pass == ConvPass::kBackwardData &&
      (s.ic < 8 || (s.taps() == 1 && strided)))
    return first;
  const int64_t limit = s.pass == ConvPass::kBackwardFilter ? 64 : 256;
  const bool many = s.ic >= 64 && s.oc >= 64;
  return many && !strided && s.taps() > 1 && s.out_plane() <= limit ? last
                                                                    : Tag::any;
}

// What all passes are described by.
struct Geometry {
  Desc in;
  Desc filter;
  Desc out;
  Dims strides;
  Dims dilates;
  Dims pads;
  dnnl::primitive_attr attr;
};

Geometry geometry(const ConvShape& s) {
  const Tag tag = image_tag(s);
  Geometry g;
  g.in = Desc(join({s.n, s.ic}, spatial(s, s.in)), kFloat, tag);
  g.filter = Desc(filter_dims(s), kFloat, Tag::any);
  g.out = Desc(join({s.n, s.oc}, spatial(s, s.out)), kFloat, tag);
  g.strides = spatial(s, s.stride);
  g.pads = spatial(s, s.pad);
  g.dilates = spatial(s, s.dilation);
  for (int64_t& dilation : g.dilates)
    --dilation; // oneDNN counts the gaps
  g.attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return g;
}

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

using Forward = dnnl::convolution_forward;

Forward::primitive_desc forward_desc(const Geometry& g) {
  return {
      onednn(),
      dnnl::prop_kind::forward_training,
      kDirect,
      g.in,
      g.filter,
      g.out,
      g.strides,
      g.dilates,
      g.pads,
      g.pads,
      g.attr};
}

// forward is a hint only.
template <class Pass>
typename Pass::primitive_desc backward_desc(
    const Geometry& g,
    const Forward::primitive_desc& forward) {
  return {
      onednn(),
      kDirect,
      g.in,
      g.filter,
      g.out,
      g.strides,
      g.dilates,
      g.pads,
      g.pads,
      forward,
      g.attr};
}

ConvDescs primitive_descs(const ConvShape& s) {
  const Geometry g = geometry(s);
  const Forward::primitive_desc f = forward_desc(g);
  if (s.pass == ConvPass::kForward)
    return {
        {},
        {f.src_desc(), f.weights_desc(), f.dst_desc()},
        f.scratchpad_desc(),
        Forward(f)};
  if (s.pass == ConvPass::kBackwardData) {
    using Pass = dnnl::convolution_backward_data;
    const Pass::primitive_desc b = backward_desc<Pass>(g, f);
    return {
        {},
        {b.diff_src_desc(), b.weights_desc(), b.diff_dst_desc()},
        b.scratchpad_desc(),
        Pass(b)};
  }
  using Pass = dnnl::convolution_backward_weights;
  const Pass::primitive_desc b = backward_desc<Pass>(g, f);
  return {
      {},
      {b.src_desc(), b.diff_weights_desc(), b.diff_dst_desc()},
      b.scratchpad_desc(),
      Pass(b)};
}

} // namespace

dnnl::engine& onednn() {
  static auto* const instance = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *instance;
}

ConvDescs conv_descs(const ConvShape& s) {
  ConvDescs descs = primitive_descs(s);
  descs.outside[0] = image_desc(s, s.ic, s.in_channels, s.in);
  descs.outside[1] = filter_desc(s);
  descs.outside[2] = image_desc(s, s.oc, s.out_channels, s.out);
  return descs;
}

} // namespace musa_standin::engine::cpu
