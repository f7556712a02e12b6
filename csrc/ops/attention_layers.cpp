// SPDX-License-Identifier: Apache-2.0
// What TransformerEncoderLayer and MultiheadAttention call for inference.
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ops/_native_multi_head_attention_native.h>
#include <ATen/ops/_transformer_encoder_layer_fwd_native.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>
#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Tensor;

// [B, T, 3 * H * W] as [3, B, H, T, W].
Tensor split_heads(const Tensor& qkv, int64_t heads) {
  const int64_t width = qkv.size(2) / 3 / heads;
  return qkv.view({qkv.size(0), qkv.size(1), 3, heads, width})
      .permute({2, 0, 3, 1, 4});
}

// Adds the bias, splits, and scales the query for the softmax of its products.
std::tuple<Tensor, Tensor, Tensor> transform_bias_rescale_qkv(
    const Tensor& qkv,
    const Tensor& bias,
    int64_t heads) {
  TORCH_CHECK(
      qkv.dim() == 3 && heads > 0 && qkv.size(2) % (3 * heads) == 0,
      "expected qkv to be [batch, length, 3 * ",
      heads,
      " heads * width], got ",
      qkv.sizes());
  const runtime::DeviceScope scope(qkv.device());
  const Tensor parts = split_heads(qkv.add(bias), heads).contiguous();
  const auto width = static_cast<double>(parts.size(4));
  const Tensor query = parts.select(0, 0);
  query.mul_(1 / std::sqrt(width));
  return {query, parts.select(0, 1), parts.select(0, 2)};
}

// Whether nothing but the context is asked for, of one sequence with itself.
bool fuses(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    int64_t embed_dim,
    int64_t heads,
    const Tensor& qkv_weight,
    bool need_weights,
    const std::optional<Tensor>& mask) {
  return !need_weights && !(mask && mask->defined()) && query.is_same(key) &&
      key.is_same(value) && query.dim() == 3 && query.size(2) == embed_dim &&
      heads > 0 && embed_dim % heads == 0 && qkv_weight.dim() == 2 &&
      qkv_weight.size(0) == 3 * embed_dim && qkv_weight.size(1) == embed_dim;
}

// NOLINTNEXTLINE(readability-function-size): the schema's arguments
std::tuple<Tensor, Tensor> multi_head_attention(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    int64_t embed_dim,
    int64_t heads,
    const Tensor& qkv_weight,
    const Tensor& qkv_bias,
    const Tensor& proj_weight,
    const Tensor& proj_bias,
    const std::optional<Tensor>& mask,
    bool need_weights,
    bool average_weights,
    std::optional<int64_t> mask_type) {
  if (!fuses(
          query,
          key,
          value,
          embed_dim,
          heads,
          qkv_weight,
          need_weights,
          mask)) {
    // Of operators alone, none of them the CPU's.
    return at::native::native_multi_head_attention_cpu(
        query,
        key,
        value,
        embed_dim,
        heads,
        qkv_weight,
        qkv_bias,
        proj_weight,
        proj_bias,
        mask,
        need_weights,
        average_weights,
        mask_type);
  }
  const Tensor parts =
      split_heads(at::linear(query, qkv_weight, qkv_bias), heads);
  const Tensor context = at::scaled_dot_product_attention(
      parts.select(0, 0),
      parts.select(0, 1),
      parts.select(0, 2));
  const Tensor joined = context.transpose(1, 2).reshape(query.sizes());
  return {at::linear(joined, proj_weight, proj_bias), Tensor()};
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&transform_bias_rescale_qkv>("_transform_bias_rescale_qkv");
  registrar.native<&multi_head_attention>("_native_multi_head_attention");
  registrar.native<&at::native::transformer_encoder_layer_forward>(
      "_transformer_encoder_layer_fwd");
}

} // namespace torch_fl::ops
