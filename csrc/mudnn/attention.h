// SPDX-License-Identifier: Apache-2.0
// Attention in one pass through muDNN's ScaledDotProductAttention.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace torch_fl::mudnn {

// Whether the class takes a dtype, and heads of query and key, and of value.
bool can_attend(at::ScalarType type, int64_t width, int64_t depth);

// query [N, H, L, E], key and value [N, G, S, ...], by any strides. mask: added
// to the products, broadcasts, may be undefined; it gets no gradient.
struct FlashCall {
  const at::Tensor& query;
  const at::Tensor& key;
  const at::Tensor& value;
  const at::Tensor& mask;
  bool causal = false;
  double scale = 1;
};

// log_sums: float [N, H, L]. False if the library has no kernel for the call,
// which is remembered: nothing has been submitted then.
bool attend(
    const at::Tensor& out,
    const at::Tensor& log_sums,
    const FlashCall& call);

bool attend_backward(
    const at::Tensor& grad_query,
    const at::Tensor& grad_key,
    const at::Tensor& grad_value,
    const at::Tensor& grad_out,
    const at::Tensor& out,
    const at::Tensor& log_sums,
    const FlashCall& call,
    bool deterministic);

} // namespace torch_fl::mudnn
