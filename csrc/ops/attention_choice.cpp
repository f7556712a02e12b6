// SPDX-License-Identifier: Apache-2.0
// Scaled dot product attention: which way it goes, forward and backward.
#include "csrc/mudnn/attention.h"
#include "csrc/ops/attention.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::SDPBackend;
using at::Tensor;

bool is_float(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kHalf ||
      type == at::kBFloat16;
}

// What the fused operator takes: four dimensions, one floating dtype, batches
// that are equal, and heads that are equal or, if so asked, in groups.
bool fuses(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    bool grouped) {
  if (query.dim() != 4 || key.dim() != 4 || value.dim() != 4 ||
      query.is_nested() || key.is_nested() || value.is_nested()) {
    return false;
  }
  const at::ScalarType type = query.scalar_type();
  if (!is_float(type) || key.scalar_type() != type ||
      value.scalar_type() != type) {
    return false;
  }
  const auto q = query.sym_sizes();
  const auto k = key.sym_sizes();
  const auto v = value.sym_sizes();
  if (q[0] != k[0] || q[0] != v[0] || k[1] != v[1] || k[2] != v[2] ||
      q[3] != k[3]) {
    return false;
  }
  return q[1] == k[1] || (grouped && k[1] != 0 && q[1] % k[1] == 0);
}

// Whether muDNN's class takes the call: its masks have no gradient, and its
// dropout is not used here.
bool fits_flash(
    const Tensor& query,
    const Tensor& value,
    const Tensor& bias,
    double dropout) {
  return at::globalContext().userEnabledFlashSDP() && dropout == 0 &&
      !(bias.defined() && bias.requires_grad() && at::GradMode::is_enabled()) &&
      mudnn::can_attend(query.scalar_type(), query.size(3), value.size(3));
}

// torch.nn.attention.sdpa_kernel may ask for the composition by its order:
// torch's own has flash attention before it.
bool math_comes_first() {
  for (const SDPBackend backend : at::globalContext().sDPPriorityOrder()) {
    if (backend == SDPBackend::math) {
      return true;
    }
    if (backend == SDPBackend::flash_attention ||
        backend == SDPBackend::overrideable) {
      return false;
    }
  }
  return false;
}

int64_t choose(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const std::optional<Tensor>& mask,
    double dropout,
    bool causal,
    std::optional<double> /*scale*/,
    bool grouped) {
  const at::Context& context = at::globalContext();
  const bool math = context.userEnabledMathSDP();
  // Both a mask and causality: torch's composition raises.
  const bool fused = !(causal && mask.has_value()) &&
      fuses(query, key, value, grouped) &&
      (context.userEnabledOverrideableSDP() ||
       fits_flash(query, value, mask.value_or(Tensor()), dropout));
  if (fused && !(math && math_comes_first())) {
    return static_cast<int64_t>(SDPBackend::overrideable);
  }
  TORCH_CHECK(math, "No available kernel. Aborting execution.");
  return static_cast<int64_t>(SDPBackend::math);
}

double scale_of(const Tensor& query, std::optional<double> scale) {
  return scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
}

// What torch's entry has not looked at when the operator is called by name.
void check(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    double dropout) {
  check_same_device(query, key);
  check_same_device(query, value);
  TORCH_CHECK(
      fuses(query, key, value, true),
      "attention: query, key and value do not fit: ",
      query.sizes(),
      ", ",
      key.sizes(),
      ", ",
      value.sizes(),
      " of ",
      query.scalar_type(),
      ", ",
      key.scalar_type(),
      ", ",
      value.scalar_type());
  TORCH_CHECK(
      dropout >= 0 && dropout <= 1,
      "dropout probability has to be between 0 and 1, but got ",
      dropout);
}

// A new [N, H, L, E] in the memory's order of `like`: heads inside positions
// where a layer has made them so, which saves it a copy afterwards.
Tensor make_ordered(at::IntArrayRef sizes, const Tensor& like) {
  if (like.stride(1) < like.stride(2)) {
    return make_dense(
               {sizes[0], sizes[2], sizes[1], sizes[3]},
               like.scalar_type())
        .transpose(1, 2);
  }
  return make_dense(sizes, like.scalar_type());
}

using Result = std::tuple<
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    c10::SymInt,
    c10::SymInt,
    Tensor,
    Tensor,
    Tensor>;

Tensor bias_of(const std::optional<Tensor>& bias) {
  return bias.value_or(Tensor());
}

bool is_empty(const Tensor& query, const Tensor& key, const Tensor& value) {
  return query.numel() == 0 || key.numel() == 0 || value.numel() == 0;
}

// muDNN's class: the result and the logarithms of the rows' sums, or nothing
// where the library has no kernel.
std::tuple<Tensor, Tensor> run_flash(const AttentionCall& call) {
  const Tensor& query = call.query;
  Tensor out = make_ordered(
      {query.size(0), query.size(1), query.size(2), call.value.size(3)},
      query);
  Tensor sums =
      make_dense({query.size(0), query.size(1), query.size(2)}, at::kFloat);
  if (!mudnn::attend(
          out,
          sums,
          {query, call.key, call.value, call.bias, call.causal, call.scale})) {
    return {};
  }
  return {std::move(out), std::move(sums)};
}

// What travels to the backward pass is, of the class, `sums`; of the
// composition, what dropout left in philox_seed and the weights in
// philox_offset.
Result attention(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const std::optional<Tensor>& bias,
    double dropout,
    bool causal,
    bool return_debug_mask,
    std::optional<double> scale) {
  check(query, key, value, dropout);
  const runtime::DeviceScope scope(query.device());
  const Tensor added = bias_of(bias);
  check_same_device(query, added);
  const AttentionCall
      call{query, key, value, added, dropout, causal, scale_of(query, scale)};
  ComposedAttention made;
  Tensor sums;
  if (is_empty(query, key, value)) {
    made.out = at::zeros(
        {query.size(0), query.size(1), query.size(2), value.size(3)},
        query.options());
  } else {
    if (!return_debug_mask && fits_flash(query, value, added, dropout)) {
      std::tie(made.out, sums) = run_flash(call);
    }
    if (!made.out.defined()) {
      made = attend(call);
    }
  }
  if (!sums.defined()) {
    sums = make_dense({0}, at::kFloat);
  }
  return {
      made.out,
      sums,
      Tensor(),
      Tensor(),
      query.size(2),
      key.size(2),
      made.kept,
      made.weights,
      return_debug_mask ? made.weights : Tensor()};
}

using Gradients = std::array<Tensor, 4>;

// False where muDNN has no kernel for the backward pass.
bool run_flash_backward(
    const AttentionCall& call,
    const Tensor& grad,
    const Tensor& out,
    const Tensor& sums,
    Gradients& made) {
  made[0] = make_ordered(call.query.sizes(), call.query);
  made[1] = make_ordered(call.key.sizes(), call.key);
  made[2] = make_ordered(call.value.sizes(), call.value);
  return mudnn::attend_backward(
      made[0],
      made[1],
      made[2],
      grad,
      out,
      sums,
      {call.query, call.key, call.value, call.bias, call.causal, call.scale},
      at::globalContext().deterministicAlgorithms());
}

Gradients zeros_of(
    const AttentionCall& call,
    const std::array<bool, 4>& wanted) {
  const Tensor* const inputs[] =
      {&call.query, &call.key, &call.value, &call.bias};
  Gradients made;
  for (size_t i = 0; i < made.size(); ++i) {
    if (wanted[i]) {
      made[i] = at::zeros_like(*inputs[i]);
    }
  }
  return made;
}

// NOLINTNEXTLINE(readability-function-size,performance-unnecessary-value-param)
std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad,
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const Tensor& bias,
    std::array<bool, 4> wanted,
    const Tensor& out,
    const Tensor& sums,
    const Tensor& /*cum_seq_q*/,
    const Tensor& /*cum_seq_k*/,
    c10::SymInt /*max_q*/,
    c10::SymInt /*max_k*/,
    double dropout,
    bool causal,
    const Tensor& kept,
    const Tensor& weights,
    std::optional<double> scale) {
  if (!grad.defined()) {
    return {};
  }
  const runtime::DeviceScope scope(query.device());
  wanted[3] = wanted[3] && bias.defined();
  const AttentionCall
      call{query, key, value, bias, dropout, causal, scale_of(query, scale)};
  Gradients made;
  if (is_empty(query, key, value)) {
    made = zeros_of(call, wanted);
  } else if (weights.defined()) {
    made = attend_backward(call, grad, weights, kept, wanted);
  } else if (wanted[3] || !run_flash_backward(call, grad, out, sums, made)) {
    made = attend_backward(call, grad, attend(call).weights, kept, wanted);
  }
  return {made[0], made[1], made[2], made[3]};
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&choose>("_fused_sdp_choice");
  registrar.native<&attention>(
      "_scaled_dot_product_fused_attention_overrideable");
  registrar.native<&attention_backward>(
      "_scaled_dot_product_fused_attention_overrideable_backward");
}

} // namespace torch_fl::ops

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &torch_fl::ops::choose)
} // namespace at::native
