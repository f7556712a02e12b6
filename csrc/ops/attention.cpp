// SPDX-License-Identifier: Apache-2.0
// Attention out of products and softmax, for what muDNN's class does not take.
#include "csrc/ops/attention.h"

#include "csrc/mudnn/matmul.h"
#include "csrc/ops/output.h"

#include <ATen/ExpandUtils.h>
#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/native_dropout.h>
#include <ATen/ops/native_dropout_backward.h>

#include <limits>

namespace torch_fl::ops {

namespace {

using at::Tensor;

// As torch's own composition: weights of 16 bits are too coarse to add up.
at::ScalarType compute_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

// The operands as batches of matrices. The heads that share a key stand below
// each other, so that no key is repeated.
struct Matrices {
  explicit Matrices(const AttentionCall& call)
      : type(compute_type(call.query.scalar_type())),
        groups(call.query.size(0) * call.key.size(1)),
        heads(groups == 0 ? 0 : call.query.size(1) / call.key.size(1)),
        rows(call.query.size(2)), keys(call.key.size(2)),
        width(call.query.size(3)), depth(call.value.size(3)) {}

  Tensor query(const Tensor& given) const {
    return given.to(type).reshape({groups, heads * rows, width});
  }
  Tensor key(const Tensor& given) const {
    return given.to(type).reshape({groups, keys, width});
  }
  Tensor value(const Tensor& given) const {
    return given.to(type).reshape({groups, keys, depth});
  }
  Tensor out(const Tensor& given) const {
    return given.to(type).reshape({groups, heads * rows, depth});
  }
  Tensor scores(const Tensor& given) const {
    return given.view({groups, heads * rows, keys});
  }

  at::ScalarType type;
  int64_t groups;
  int64_t heads; // that share a key
  int64_t rows;
  int64_t keys;
  int64_t width;
  int64_t depth;
};

// factor * a @ b, batch by batch.
Tensor product(const Tensor& a, const Tensor& b, double factor = 1) {
  Tensor out = make_dense({a.size(0), a.size(1), b.size(2)}, a.scalar_type());
  mudnn::matmul_add(out, out, a, b, 0, factor);
  return out;
}

Tensor transposed(const Tensor& t) {
  return t.transpose(1, 2);
}

// What a position must not see: BOOL [rows, keys].
Tensor later_keys(const Tensor& like, int64_t rows, int64_t keys) {
  const at::TensorOptions options = like.options().dtype(at::kLong);
  const Tensor key = at::arange(keys, options);
  const Tensor row = rows == keys ? key : at::arange(rows, options);
  return key.unsqueeze(0).gt(row.unsqueeze(1));
}

Tensor shaped(const Tensor& made, const Tensor& like) {
  return made.view(like.sizes()).to(like.scalar_type());
}

} // namespace

ComposedAttention attend(const AttentionCall& call) {
  const Matrices as(call);
  const Tensor scores =
      product(as.query(call.query), transposed(as.key(call.key)), call.scale)
          .view({call.query.size(0), call.query.size(1), as.rows, as.keys});
  if (call.bias.defined()) {
    scores.add_(call.bias.to(as.type));
  }
  if (call.causal) {
    scores.masked_fill_(
        later_keys(scores, as.rows, as.keys),
        -std::numeric_limits<double>::infinity());
  }
  ComposedAttention made;
  // Only a bias can hide every key from a row.
  made.weights = call.bias.defined() ? at::_safe_softmax(scores, -1)
                                     : at::_softmax(scores, -1, false);
  Tensor used = made.weights;
  if (call.dropout > 0) {
    std::tie(used, made.kept) =
        at::native_dropout(made.weights, call.dropout, true);
  }
  made.out = product(as.scores(used), as.value(call.value))
                 .view({call.query.size(0), call.query.size(1), as.rows, -1})
                 .to(call.query.scalar_type());
  return made;
}

std::array<Tensor, 4> attend_backward(
    const AttentionCall& call,
    const Tensor& grad,
    const Tensor& weights,
    const Tensor& kept,
    const std::array<bool, 4>& wanted) {
  const Matrices as(call);
  const double factor = call.dropout < 1 ? 1 / (1 - call.dropout) : 0;
  const auto drop = [&](const Tensor& given) {
    return kept.defined() ? at::native_dropout_backward(given, kept, factor)
                          : given;
  };
  const Tensor grad_out = as.out(grad);
  std::array<Tensor, 4> made;
  if (wanted[2]) {
    const Tensor used = as.scores(drop(weights));
    made[2] = shaped(product(transposed(used), grad_out), call.value);
  }
  if (!wanted[0] && !wanted[1] && !wanted[3]) {
    return made;
  }
  const Tensor grad_used =
      product(grad_out, transposed(as.value(call.value))).view(weights.sizes());
  const Tensor grad_scores =
      at::_softmax_backward_data(drop(grad_used), weights, -1, as.type);
  const Tensor matrices = as.scores(grad_scores);
  if (wanted[0]) {
    const Tensor key = as.key(call.key);
    made[0] = shaped(product(matrices, key, call.scale), call.query);
  }
  if (wanted[1]) {
    const Tensor query = as.query(call.query);
    made[1] =
        shaped(product(transposed(matrices), query, call.scale), call.key);
  }
  if (wanted[3]) {
    made[3] =
        at::sum_to(grad_scores, call.bias.sizes()).to(call.bias.scalar_type());
  }
  return made;
}

} // namespace torch_fl::ops
