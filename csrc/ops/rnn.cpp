// SPDX-License-Identifier: Apache-2.0
// Fused LSTM and GRU cells: torch takes these on every device but the CPU, and
// they have no other kernel. Compositions of elementwise operators.
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::Tensor;

Tensor with_bias(const Tensor& gates, const std::optional<Tensor>& bias) {
  return bias && bias->defined() ? gates.add(*bias) : gates;
}

Tensor or_zeros(const std::optional<Tensor>& grad, const Tensor& like) {
  return grad && grad->defined() ? *grad : at::zeros_like(like);
}

// x (1 - x): a sigmoid's derivative from its result.
Tensor slope(const Tensor& x) {
  return x.sub(x.mul(x));
}

// The workspace holds the gates after their activations, for backward.
std::tuple<Tensor, Tensor, Tensor> lstm_cell(
    const Tensor& input_gates,
    const Tensor& hidden_gates,
    const Tensor& cx,
    const std::optional<Tensor>& input_bias,
    const std::optional<Tensor>& hidden_bias) {
  check_same_device(input_gates, hidden_gates);
  check_same_device(input_gates, cx);
  const Tensor gates = with_bias(
      with_bias(input_gates.add(hidden_gates), input_bias),
      hidden_bias);
  const auto parts = gates.chunk(4, 1);
  const Tensor in = parts[0].sigmoid();
  const Tensor forget = parts[1].sigmoid();
  const Tensor cell = parts[2].tanh();
  const Tensor out = parts[3].sigmoid();
  Tensor cy = forget.mul(cx).add_(in.mul(cell));
  Tensor hy = out.mul(cy.tanh());
  return {std::move(hy), std::move(cy), at::cat({in, forget, cell, out}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(
    const std::optional<Tensor>& grad_hy,
    const std::optional<Tensor>& grad_cy,
    const Tensor& cx,
    const Tensor& cy,
    const Tensor& workspace,
    bool has_bias) {
  if (!(grad_hy && grad_hy->defined()) && !(grad_cy && grad_cy->defined())) {
    return {};
  }
  const auto parts = workspace.chunk(4, 1);
  const Tensor& in = parts[0];
  const Tensor& forget = parts[1];
  const Tensor& cell = parts[2];
  const Tensor& out = parts[3];
  const Tensor grad_h = or_zeros(grad_hy, cy);
  const Tensor squashed = cy.tanh();
  const Tensor grad_c = grad_h.mul(out)
                            .mul_(squashed.mul(squashed).neg().add_(1))
                            .add_(or_zeros(grad_cy, cy));
  Tensor grad_gates = at::cat(
      {grad_c.mul(cell).mul_(slope(in)),
       grad_c.mul(cx).mul_(slope(forget)),
       grad_c.mul(in).mul_(cell.mul(cell).neg().add_(1)),
       grad_h.mul(squashed).mul_(slope(out))},
      1);
  Tensor grad_bias = has_bias ? grad_gates.sum(0) : Tensor();
  return {std::move(grad_gates), grad_c.mul(forget), std::move(grad_bias)};
}

// The workspace holds reset, update, candidate, hx and the hidden part of the
// candidate.
std::tuple<Tensor, Tensor> gru_cell(
    const Tensor& input_gates,
    const Tensor& hidden_gates,
    const Tensor& hx,
    const std::optional<Tensor>& input_bias,
    const std::optional<Tensor>& hidden_bias) {
  check_same_device(input_gates, hidden_gates);
  check_same_device(input_gates, hx);
  const auto in = with_bias(input_gates, input_bias).chunk(3, 1);
  const auto hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
  const Tensor reset = in[0].add(hidden[0]).sigmoid_();
  const Tensor update = in[1].add(hidden[1]).sigmoid_();
  const Tensor candidate = in[2].add(reset.mul(hidden[2])).tanh_();
  Tensor hy = hx.sub(candidate).mul_(update).add_(candidate);
  return {std::move(hy), at::cat({reset, update, candidate, hx, hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(
    const Tensor& grad_hy,
    const Tensor& workspace,
    bool has_bias) {
  const auto parts = workspace.chunk(5, 1);
  const Tensor& reset = parts[0];
  const Tensor& update = parts[1];
  const Tensor& candidate = parts[2];
  const Tensor& hx = parts[3];
  const Tensor& hidden = parts[4];
  const Tensor grad_update = grad_hy.mul(hx.sub(candidate)).mul_(slope(update));
  const Tensor grad_candidate =
      grad_hy.sub(grad_hy.mul(update))
          .mul_(candidate.mul(candidate).neg().add_(1));
  const Tensor grad_reset = grad_candidate.mul(hidden).mul_(slope(reset));
  Tensor grad_input = at::cat({grad_reset, grad_update, grad_candidate}, 1);
  Tensor grad_hidden =
      at::cat({grad_reset, grad_update, grad_candidate.mul(reset)}, 1);
  Tensor grad_input_bias = has_bias ? grad_input.sum(0) : Tensor();
  Tensor grad_hidden_bias = has_bias ? grad_hidden.sum(0) : Tensor();
  return {
      std::move(grad_input),
      std::move(grad_hidden),
      grad_hy.mul(update),
      std::move(grad_input_bias),
      std::move(grad_hidden_bias)};
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&lstm_cell>("_thnn_fused_lstm_cell");
  registrar.native<&lstm_cell_backward>("_thnn_fused_lstm_cell_backward_impl");
  registrar.native<&gru_cell>("_thnn_fused_gru_cell");
  registrar.native<&gru_cell_backward>("_thnn_fused_gru_cell_backward");
}

} // namespace torch_fl::ops
