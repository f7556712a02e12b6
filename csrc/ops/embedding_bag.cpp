// SPDX-License-Identifier: Apache-2.0
// Bags of rows of a table: sums, means and maxima, and their gradients.
#include "csrc/kernels/embedding.h"

#include "csrc/ops/index_picks.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/TensorUtils.h>
#include <ATen/ops/_embedding_bag_sparse_backward.h>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using BagResult = std::tuple<Tensor, Tensor, Tensor, Tensor>;

bool has_weights(const OptionalTensor& weights) {
  return weights.has_value() && weights->defined();
}

void check_ids(const char* op, const Tensor& ids, const char* name, int at) {
  at::checkScalarTypes(op, at::TensorArg(ids, name, at), {at::kLong, at::kInt});
}

void check_bags(
    const Tensor& weight,
    const Tensor& indices,
    const Tensor& offsets,
    int64_t mode,
    const OptionalTensor& sample_weights,
    bool include_last_offset) {
  TORCH_CHECK(
      indices.dim() == 1,
      "input has to be a 1D Tensor, but got Tensor of dimension ",
      indices.dim());
  TORCH_CHECK(
      offsets.dim() == 1,
      "offsets has to be a 1D Tensor, but got Tensor of dimension ",
      offsets.dim());
  TORCH_CHECK(
      weight.dim() == 2,
      "weight has to be a 2D Tensor, but got Tensor of dimension ",
      weight.dim());
  check_ids("embedding_bag", indices, "indices", 1);
  check_ids("embedding_bag", offsets, "offsets", 1);
  at::checkScalarTypes(
      "embedding_bag",
      at::TensorArg(weight, "weight", 1),
      {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble});
  check_same_device(weight, indices);
  check_same_device(weight, offsets);
  if (has_weights(sample_weights)) {
    TORCH_CHECK(
        mode == kFlBagSum,
        "embedding_bag: per_sample_weights only supported with mode='sum'");
    check_same_device(weight, *sample_weights);
    TORCH_CHECK(
        sample_weights->scalar_type() == weight.scalar_type(),
        "embedding_bag: expected per_sample_weights of dtype ",
        weight.scalar_type(),
        ", got ",
        sample_weights->scalar_type());
    TORCH_CHECK(
        sample_weights->dim() == 1 &&
            sample_weights->numel() == indices.numel(),
        "embedding_bag: expected one of per_sample_weights for each index");
  }
  TORCH_CHECK(
      !include_last_offset || offsets.size(0) >= 1,
      "include_last_offset: number of offsets should be at least 1");
}

Tensor whole(const Tensor& ids) {
  return ids.to(at::kLong).contiguous();
}

Tensor as_ids(const Tensor& ids, const Tensor& like) {
  return ids.to(like.scalar_type());
}

BagResult embedding_bag(
    const Tensor& weight,
    const Tensor& indices,
    const Tensor& offsets,
    bool /*scale_grad_by_freq*/,
    int64_t mode,
    bool /*sparse*/,
    const OptionalTensor& sample_weights,
    bool include_last_offset,
    int64_t padding_idx) {
  check_bags(
      weight,
      indices,
      offsets,
      mode,
      sample_weights,
      include_last_offset);
  const runtime::DeviceScope scope(weight.device());
  const Tensor table = weight.stride(1) == 1 || weight.size(1) == 1
      ? weight
      : weight.contiguous();
  const Tensor index = whole(indices);
  const Tensor begins = whole(offsets);
  const Tensor by =
      has_weights(sample_weights) ? sample_weights->contiguous() : Tensor();
  const int64_t width = weight.size(1);
  const int64_t bags = offsets.size(0) - (include_last_offset ? 1 : 0);
  const bool is_max = mode == kFlBagMax;
  const Tensor out = make_dense({bags, width}, weight.scalar_type());
  const Tensor bag_of = make_dense({indices.size(0)}, at::kLong);
  const Tensor size = make_dense({bags}, at::kLong);
  const Tensor rows = is_max ? make_dense({bags, width}, at::kLong)
                             : make_dense({0}, at::kLong);
  // Samples before the first bag belong to none; without columns nothing runs.
  bag_of.zero_();
  if (width == 0) {
    size.zero_();
  }
  FlBags v{};
  v.table = table.unsafeGetTensorImpl()->data();
  v.index = index.const_data_ptr<int64_t>();
  v.offsets = begins.const_data_ptr<int64_t>();
  v.weight = by.defined() ? by.unsafeGetTensorImpl()->data() : nullptr;
  v.out = out.unsafeGetTensorImpl()->mutable_data();
  v.bag_of = bag_of.mutable_data_ptr<int64_t>();
  v.size = size.mutable_data_ptr<int64_t>();
  v.rows = is_max ? rows.mutable_data_ptr<int64_t>() : nullptr;
  v.table_rows = weight.size(0);
  v.row_stride = table.stride(0);
  v.columns = width;
  v.samples = indices.size(0);
  v.bags = bags;
  v.offset_count = offsets.size(0);
  v.padding = padding_idx;
  v.mode = static_cast<FlBagMode>(mode);
  if (bags > 0 && width > 0) {
    FL_MUSA_CHECK(
        fl_bags(kernel_type(weight.scalar_type()), &v, kernel_stream()));
  }
  return {
      out,
      as_ids(bag_of, indices),
      as_ids(size, indices),
      as_ids(rows, indices)};
}

// Of maxima: each element of grad has a row of its own.
void maxima_backward(
    const Tensor& out,
    const Tensor& grad,
    const Tensor& maxima,
    int64_t width) {
  const Tensor rows = whole(maxima);
  const Tensor keys = make_dense({rows.numel()}, at::kLong);
  FL_MUSA_CHECK(fl_bag_keys(
      keys.mutable_data_ptr<int64_t>(),
      rows.const_data_ptr<int64_t>(),
      rows.size(0),
      width,
      out.numel(),
      kernel_stream()));
  const Sorted sorted = sorted_along(keys, 0);
  FlSegments v{};
  v.name = "_embedding_bag_dense_backward";
  v.alpha = 1;
  v.skipped = out.numel();
  v.key_stride = 1;
  v.row_stride = 1;
  v.columns = 1;
  fold_rows(v, out, sorted, grad);
}

Tensor dense_backward(
    const Tensor& grad,
    const Tensor& indices,
    const Tensor& offset2bag,
    const Tensor& bag_size,
    const Tensor& maxima,
    int64_t num_weights,
    bool scale_grad_by_freq,
    int64_t mode,
    const OptionalTensor& sample_weights,
    int64_t padding_idx) {
  check_same_device(grad, indices);
  at::checkScalarTypes(
      "embedding_bag",
      at::TensorArg(grad, "grad", 1),
      {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble});
  const runtime::DeviceScope scope(grad.device());
  const int64_t width = grad.size(1);
  Tensor out = make_dense({num_weights, width}, grad.scalar_type());
  out.zero_();
  const Tensor source = grad.contiguous();
  if (out.numel() == 0 || grad.numel() == 0) {
    return out;
  }
  if (mode == kFlBagMax) {
    maxima_backward(out, source, maxima, width);
    return out;
  }
  if (indices.numel() == 0) {
    return out;
  }
  const Picks picks = picks_along(
      "_embedding_bag_dense_backward",
      out,
      0,
      indices,
      /*from_end=*/false);
  const Sorted sorted = sorted_along(places_of(picks.by, at::kLong), 0);
  const Tensor bag_of = whole(offset2bag);
  const Tensor size = whole(bag_size);
  const Tensor by =
      has_weights(sample_weights) ? sample_weights->contiguous() : Tensor();
  FlSegments v{};
  v.name = picks.by.name;
  v.row_of = bag_of.const_data_ptr<int64_t>();
  v.weight = by.defined() ? by.unsafeGetTensorImpl()->data() : nullptr;
  v.divisor = mode == kFlBagMean ? size.const_data_ptr<int64_t>() : nullptr;
  v.alpha = 1;
  v.mean = scale_grad_by_freq ? 1 : 0;
  v.skipped = padding_idx < 0 ? -1 : padding_idx * width;
  v.key_stride = 1;
  v.row_stride = width;
  v.columns = width;
  fold_rows(v, out, sorted, source);
  return out;
}

Tensor backward(
    const Tensor& grad,
    const Tensor& indices,
    const Tensor& offsets,
    const Tensor& offset2bag,
    const Tensor& bag_size,
    const Tensor& maxima,
    int64_t num_weights,
    bool scale_grad_by_freq,
    int64_t mode,
    bool sparse,
    const OptionalTensor& sample_weights,
    int64_t padding_idx) {
  check_ids("embedding_bag", indices, "indices", 1);
  check_ids("embedding_bag", offsets, "offsets", 1);
  if (sparse) {
    return at::_embedding_bag_sparse_backward(
        grad,
        indices,
        offsets,
        offset2bag,
        bag_size,
        num_weights,
        scale_grad_by_freq,
        mode,
        sample_weights,
        padding_idx);
  }
  return dense_backward(
      grad,
      indices,
      offset2bag,
      bag_size,
      maxima,
      num_weights,
      scale_grad_by_freq,
      mode,
      sample_weights,
      padding_idx);
}

Tensor sample_weights_backward(
    const Tensor& grad,
    const Tensor& weight,
    const Tensor& indices,
    const Tensor& /*offsets*/,
    const Tensor& offset2bag,
    int64_t mode,
    int64_t padding_idx) {
  TORCH_CHECK(
      mode == kFlBagSum,
      "embedding_bag_backward: per_sample_weights only supported for "
      "mode='sum'");
  check_same_device(grad, weight);
  check_same_device(grad, indices);
  const runtime::DeviceScope scope(grad.device());
  const Tensor left = grad.contiguous();
  const Tensor right = weight.contiguous();
  const Tensor index = whole(indices);
  const Tensor bag_of = whole(offset2bag);
  Tensor out = make_dense({indices.numel()}, grad.scalar_type());
  if (grad.numel() == 0) {
    return out.zero_();
  }
  FlBagWeights v{};
  v.grad = left.unsafeGetTensorImpl()->data();
  v.table = right.unsafeGetTensorImpl()->data();
  v.index = index.const_data_ptr<int64_t>();
  v.bag_of = bag_of.const_data_ptr<int64_t>();
  v.out = out.unsafeGetTensorImpl()->mutable_data();
  v.table_rows = weight.size(0);
  v.table_stride = weight.size(1);
  v.columns = weight.size(1);
  v.samples = indices.numel();
  v.padding = padding_idx;
  FL_MUSA_CHECK(fl_bag_weights_backward(
      kernel_type(grad.scalar_type()),
      &v,
      kernel_stream()));
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&embedding_bag>("_embedding_bag");
  r.native<&embedding_bag>("_embedding_bag_forward_only");
  r.native<&backward>("_embedding_bag_backward");
  r.native<&dense_backward>("_embedding_bag_dense_backward");
  r.native<&sample_weights_backward>(
      "_embedding_bag_per_sample_weights_backward");
}

} // namespace

} // namespace torch_fl::ops
