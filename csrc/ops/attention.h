// SPDX-License-Identifier: Apache-2.0
// Attention out of products and softmax, for what muDNN's class does not take.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace torch_fl::ops {

// query [B, H, L, E], key [B, G, S, E], value [B, G, S, V] of one floating
// dtype, H a multiple of G: head h reads group h / (H / G). `bias` broadcasts
// to [B, H, L, S] and may be undefined. Causal: position i sees keys up to i.
struct AttentionCall {
  const at::Tensor& query;
  const at::Tensor& key;
  const at::Tensor& value;
  const at::Tensor& bias;
  double dropout = 0;
  bool causal = false;
  double scale = 1;
};

struct ComposedAttention {
  at::Tensor out;     // of query's dtype
  at::Tensor weights; // before dropout, in the dtype computed in
  at::Tensor kept;    // what dropout left, of BOOL; undefined without dropout
};

// No operand may be empty. Rows that may see nothing come out as 0.
ComposedAttention attend(const AttentionCall& call);

// Gradients of query, key, value and bias, those that are wanted.
std::array<at::Tensor, 4> attend_backward(
    const AttentionCall& call,
    const at::Tensor& grad,
    const at::Tensor& weights,
    const at::Tensor& kept,
    const std::array<bool, 4>& wanted);

} // namespace torch_fl::ops
