// SPDX-License-Identifier: Apache-2.0
// Attention in one pass through muDNN's ScaledDotProductAttention.
#include "csrc/mudnn/attention.h"

#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/tensor_view.h"
#include "csrc/mudnn/workspace.h"

#include <array>
#include <atomic>
#include <mutex>
#include <set>

namespace torch_fl::mudnn {

namespace {

namespace dnn = ::musa::dnn;
using Attention = dnn::ScaledDotProductAttention;

// What a refusal depends on: dtype, pass, sizes, mask.
using Kind = std::array<int64_t, 12>;

Kind kind_of(const FlashCall& call, bool backward, bool deterministic) {
  const auto mask = call.mask.defined()
      ? 1 + static_cast<int64_t>(call.mask.scalar_type())
      : 0;
  return {
      static_cast<int64_t>(call.query.scalar_type()),
      (backward ? 1 : 0) + (deterministic ? 2 : 0) + (call.causal ? 4 : 0),
      mask,
      mask != 0 ? call.mask.numel() : 0,
      call.query.size(1),
      call.query.size(2),
      call.query.size(3),
      call.key.size(1),
      call.key.size(2),
      call.value.size(3),
      call.query.stride(2),
      call.key.stride(2)};
}

// Calls that the library has refused: a lookup costs one load while there are
// none.
class Refusals {
 public:
  bool has(const Kind& kind) {
    if (!any_.load(std::memory_order_acquire)) {
      return false;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    return kinds_.count(kind) != 0;
  }
  void add(const Kind& kind) {
    const std::lock_guard<std::mutex> lock(mutex_);
    kinds_.insert(kind);
    any_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::set<Kind> kinds_;
};

Refusals& refusals() {
  static auto* const instance = new Refusals;
  return *instance;
}

void configure(Attention& op, const FlashCall& call, bool training) {
  const int64_t heads = call.query.size(1);
  FL_MUDNN_CHECK(op.SetComputeMode(Attention::ComputeMode::TENSOR));
  FL_MUDNN_CHECK(op.SetEmbedDim(static_cast<int>(heads * call.value.size(3))));
  FL_MUDNN_CHECK(op.SetHeadsNum(static_cast<int>(heads)));
  FL_MUDNN_CHECK(op.SetMaskMode(false));
  FL_MUDNN_CHECK(op.SetCausal(call.causal));
  FL_MUDNN_CHECK(op.SetTraining(training));
  FL_MUDNN_CHECK(op.SetScale(call.scale));
}

// Absent, or of rank 2 at least.
dnn::Tensor mask_view(const at::Tensor& mask) {
  if (!mask.defined()) {
    return {};
  }
  at::Tensor given = mask;
  while (given.dim() < 2) {
    given = given.unsqueeze(0);
  }
  return view(given);
}

// Quirk 83: without dropout its mask is a BOOL tensor of length 0.
dnn::Tensor no_dropout() {
  dnn::Tensor made;
  const int64_t length = 0;
  FL_MUDNN_CHECK(made.SetType(dnn::Tensor::Type::BOOL));
  FL_MUDNN_CHECK(made.SetNdInfo(1, &length));
  return made;
}

// Quirk 81: a gradient that repeats by stride 0 must be contiguous.
at::Tensor without_repeats(const at::Tensor& grad) {
  for (int64_t i = 0; i < grad.dim(); ++i) {
    if (grad.stride(i) == 0 && grad.size(i) > 1) {
      return grad.contiguous();
    }
  }
  return grad;
}

bool done(dnn::Status status, const Kind& kind) {
  if (status == dnn::Status::NOT_SUPPORTED) {
    refusals().add(kind);
    return false;
  }
  FL_MUDNN_CHECK(status);
  return true;
}

} // namespace

bool can_attend(at::ScalarType type, int64_t width, int64_t depth) {
  constexpr int64_t kMost = 128;
  const bool fits = (width <= kMost && depth <= kMost) ||
      (width == 192 && depth == 128) || (width == 160 && depth == 160);
  return fits && (type == at::kHalf || type == at::kBFloat16);
}

bool attend(
    const at::Tensor& out,
    const at::Tensor& log_sums,
    const FlashCall& call) {
  const Kind kind = kind_of(call, false, false);
  if (refusals().has(kind)) {
    return false;
  }
  dnn::Tensor result = writable(out);
  dnn::Tensor sums = writable(log_sums);
  dnn::Tensor dropout = no_dropout();
  Attention op;
  configure(op, call, false);
  return done(
      op.RunFlash(
          plain_handle(),
          result,
          sums,
          view(call.query),
          view(call.key),
          view(call.value),
          mask_view(call.mask),
          dropout,
          workspace()),
      kind);
}

bool attend_backward(
    const at::Tensor& grad_query,
    const at::Tensor& grad_key,
    const at::Tensor& grad_value,
    const at::Tensor& grad_out,
    const at::Tensor& out,
    const at::Tensor& log_sums,
    const FlashCall& call,
    bool deterministic) {
  const Kind kind = kind_of(call, true, deterministic);
  if (refusals().has(kind)) {
    return false;
  }
  const at::Tensor grad = without_repeats(grad_out);
  dnn::Tensor query = writable(grad_query);
  dnn::Tensor key = writable(grad_key);
  dnn::Tensor value = writable(grad_value);
  Attention op;
  configure(op, call, true);
  FL_MUDNN_CHECK(op.SetIsDeterministic(deterministic));
  return done(
      op.RunFlashBwd(
          plain_handle(),
          query,
          key,
          value,
          view(grad),
          view(call.query),
          view(call.key),
          view(call.value),
          mask_view(call.mask),
          view(out),
          view(log_sums),
          no_dropout(),
          workspace()),
      kind);
}

} // namespace torch_fl::mudnn
