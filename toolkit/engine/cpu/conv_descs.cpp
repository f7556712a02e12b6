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

// The caller's order.
Desc image_desc(
    const ConvShape& s,
    int64_t channels,
    const int64_t (&all)[kMaxSpatial]) {
  const Dims positions = spatial(s, all);
  const int64_t plane = all[0] * all[1] * all[2];
  const bool last = s.images == ImageOrder::kChannelsLast;
  const Dims strides = join(
      {channels * plane, last ? 1 : plane},
      spatial_strides(positions, last ? channels : 1));
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
  const int64_t ic = s.ic / s.groups;
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
    strides = join({1, s.oc}, spatial_strides(kernel, ic * s.oc));
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

ConvDescs primitive_descs(const ConvShape& s) {
  const Tag tag = image_tag(s);
  const Desc in(join({s.n, s.ic}, spatial(s, s.in)), kFloat, tag);
  const Desc filter(filter_dims(s), kFloat, Tag::any);
  const Desc out(join({s.n, s.oc}, spatial(s, s.out)), kFloat, tag);
  const Dims strides = spatial(s, s.stride);
  const Dims pads = spatial(s, s.pad);
  Dims dilates = spatial(s, s.dilation);
  for (int64_t& dilation : dilates)
    --dilation; // oneDNN counts the gaps
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(
      onednn(),
      dnnl::prop_kind::forward_training,
      kDirect,
      in,
      filter,
      out,
      strides,
      dilates,
      pads,
      pads,
      attr);
  switch (s.pass) {
  case ConvPass::kForward:
    return {
        {},
        {forward.src_desc(), forward.weights_desc(), forward.dst_desc()},
        forward.scratchpad_desc(),
        dnnl::convolution_forward(forward)};
  case ConvPass::kBackwardData: {
    const dnnl::convolution_backward_data::primitive_desc backward(
        onednn(),
        kDirect,
        in,
        filter,
        out,
        strides,
        dilates,
        pads,
        pads,
        forward,
        attr);
    return {
        {},
        {backward.diff_src_desc(),
         backward.weights_desc(),
         backward.diff_dst_desc()},
        backward.scratchpad_desc(),
        dnnl::convolution_backward_data(backward)};
  }
  default: {
    const dnnl::convolution_backward_weights::primitive_desc backward(
        onednn(),
        kDirect,
        in,
        filter,
        out,
        strides,
        dilates,
        pads,
        pads,
        forward,
        attr);
    return {
        {},
        {backward.src_desc(),
         backward.diff_weights_desc(),
         backward.diff_dst_desc()},
        backward.scratchpad_desc(),
        dnnl::convolution_backward_weights(backward)};
  }
  }
}

} // namespace

dnnl::engine& onednn() {
  static auto* const instance = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *instance;
}

ConvDescs conv_descs(const ConvShape& s) {
  ConvDescs descs = primitive_descs(s);
  descs.outside[0] = image_desc(s, s.ic, s.in);
  descs.outside[1] = filter_desc(s);
  descs.outside[2] = image_desc(s, s.oc, s.out);
  return descs;
}

} // namespace musa_standin::engine::cpu
