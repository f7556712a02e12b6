// SPDX-License-Identifier: Apache-2.0
// Attention on the CUDA engine: cuDNN's fused engines, or NotSupported where
// they do not reach.
#include "toolkit/engine/cuda/attention_plan.h"
#include "toolkit/engine/cuda/check.h"
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/dnn_context.h"
#include "toolkit/engine/cuda/stream.h"
#include "toolkit/engine/thread_state.h"

#include <algorithm>
#include <cstring>

namespace musa_standin::engine::cuda {
namespace {

constexpr size_t kAlign = 256;          // of what lies in the workspace
constexpr uintptr_t kOperandAlign = 16; // bytes
constexpr int64_t kHeadMultiple = 8;    // elements

[[noreturn]] void refuse(const char* why) {
  throw Error(
      musaErrorNotSupported,
      std::string("ScaledDotProductAttention: ") + why);
}

size_t aligned(size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// cuDNN reads 16 bytes at a time along a head.
void check_operand(const View& v) {
  if (reinterpret_cast<uintptr_t>(v.address) % kOperandAlign != 0)
    refuse("cuDNN wants operands at multiples of 16 bytes");
  if (v.strides[3] != 1 && v.dims[3] != 1)
    refuse("cuDNN wants heads whose elements are neighbours");
  for (int i = 0; i < 3; ++i) {
    if (v.dims[i] > 1 && v.strides[i] % kHeadMultiple != 0)
      refuse("cuDNN wants strides that are multiples of 8");
  }
}

// An extent of 1 may have come with any stride, 0 too, which cuDNN refuses.
void tidy_strides(
    const int64_t (&dims)[kAttentionRank],
    int64_t (&strides)[kAttentionRank]) {
  for (int i = kAttentionRank - 2; i >= 0; --i) {
    if (dims[i] == 1)
      strides[i] = strides[i + 1] * dims[i + 1];
  }
}

// The mask as cuDNN adds it: of the operands' type, [1 or N, 1 or H, L, S].
struct Bias {
  explicit Bias(const AttentionArgs& args) {
    const View& mask = args.mask;
    if (!mask.present())
      return;
    std::copy_n(mask.dims, kAttentionRank, dims);
    for (int i = 0; i < 2; ++i) {
      if (mask.strides[i] == 0)
        dims[i] = 1;
    }
    numel = dims[0] * dims[1] * dims[2] * dims[3];
    const bool rows_fit = dims[2] == 1 ||
        (mask.strides[2] != 0 && mask.strides[2] % kHeadMultiple == 0);
    direct = mask.dtype == args.query.dtype && mask.strides[3] == 1 &&
        rows_fit &&
        reinterpret_cast<uintptr_t>(mask.address) % kOperandAlign == 0;
    if (direct) {
      std::copy_n(mask.strides, kAttentionRank, strides);
      tidy_strides(dims, strides);
    } else {
      // Rows begin at multiples of 16 bytes.
      const int64_t row =
          (dims[3] + kHeadMultiple - 1) / kHeadMultiple * kHeadMultiple;
      strides[3] = 1;
      strides[2] = row;
      strides[1] = dims[2] * row;
      strides[0] = dims[1] * strides[1];
    }
  }

  [[nodiscard]] size_t bytes(Dtype type) const {
    return numel == 0 || direct
        ? 0
        : aligned(
              static_cast<size_t>(dims[0] * strides[0] * element_bytes(type)));
  }

  // Writes the mask to `address`. Where a key is not seen log(0) hides it.
  void make(
      CudaDnn& dnn,
      engine::Stream& stream,
      const View& mask,
      Dtype type,
      void* address) const {
    View from = mask;
    from.dims = dims;
    from.numel = numel;
    View to;
    to.address = address;
    to.dims = dims;
    to.strides = strides;
    to.rank = kAttentionRank;
    to.numel = numel;
    to.dtype = type;
    to.dense = strides[2] == dims[3];
    if (mask.dtype == type)
      return dnn.copy(stream, to, from);
    dnn.unary(stream, UnaryMode::kCast, to, from, {}, {});
    if (mask.dtype == Dtype::kBool)
      dnn.unary(stream, UnaryMode::kLog, to, to, {}, {});
  }

  int64_t dims[kAttentionRank] = {};
  int64_t strides[kAttentionRank] = {};
  int64_t numel = 0;
  bool direct = false;
};

void put_strides(int64_t (&to)[kAttentionRank], const View& v) {
  check_operand(v);
  int64_t dims[kAttentionRank];
  std::copy_n(v.dims, kAttentionRank, dims);
  std::copy_n(v.strides, kAttentionRank, to);
  if (dims[3] == 1)
    to[3] = 1;
  tidy_strides(dims, to);
}

AttentionKey key_of(const AttentionArgs& args, const Bias& bias) {
  AttentionKey key{};
  key.dtype = static_cast<int32_t>(args.query.dtype);
  key.causal = args.causal ? 1 : 0;
  key.batch = args.query.dims[0];
  key.heads = args.query.dims[1];
  key.rows = args.query.dims[2];
  key.width = args.query.dims[3];
  key.groups = args.key.dims[1];
  key.keys = args.key.dims[2];
  key.depth = args.value.dims[3];
  if (key.width % kHeadMultiple != 0 || key.depth % kHeadMultiple != 0)
    refuse("cuDNN wants heads of a multiple of 8");
  std::memcpy(&key.scale_bits, &args.scale, sizeof args.scale);
  put_strides(key.query, args.query);
  put_strides(key.key, args.key);
  put_strides(key.value, args.value);
  put_strides(key.out, args.out);
  if (bias.numel != 0) {
    key.bias_batches = static_cast<int32_t>(bias.dims[0]);
    key.bias_heads = static_cast<int32_t>(bias.dims[1]);
    std::copy_n(bias.strides, kAttentionRank, key.bias);
  }
  return key;
}

AttentionKey key_of(const AttentionBackwardArgs& args, const Bias& bias) {
  AttentionKey key = key_of(args.forward, bias);
  key.backward = 1;
  key.deterministic = args.deterministic ? 1 : 0;
  put_strides(key.grad_out, args.grad_out);
  put_strides(key.grad_query, args.grad_query);
  put_strides(key.grad_key, args.grad_key);
  put_strides(key.grad_value, args.grad_value);
  return key;
}

AttentionPlan& plan_for(DnnContext& context, const AttentionKey& key) {
  AttentionPlan& plan = context.attention(key);
  if (!plan.works())
    refuse("cuDNN has no engine for these operands");
  return plan;
}

size_t float_bytes(int64_t elements) {
  return aligned(static_cast<size_t>(elements) * sizeof(float));
}

// Hands parts of the workspace out, in the order of workspace_bytes().
class Parts {
 public:
  explicit Parts(const Workspace& workspace)
      : at_(static_cast<char*>(workspace.address)), left_(workspace.bytes) {}
  void* take(size_t bytes) {
    if (bytes > left_)
      throw Error(
          musaErrorInvalidValue,
          "ScaledDotProductAttention: the workspace is smaller than what was "
          "asked for");
    char* const part = bytes == 0 ? nullptr : at_;
    at_ += bytes;
    left_ -= bytes;
    return part;
  }

 private:
  char* at_;
  size_t left_;
};

void put_forward(
    void* (&operands)[kAttentionOperands],
    const AttentionArgs& args) {
  operands[kQuery] = args.query.address;
  operands[kKey] = args.key.address;
  operands[kValue] = args.value.address;
  operands[kOut] = args.out.address;
  operands[kStats] = args.lse.address;
}

// The mask's address for cuDNN, after it was brought into shape.
void* bring_bias(
    CudaDnn& dnn,
    engine::Stream& stream,
    const AttentionArgs& args,
    const Bias& bias,
    Parts& parts) {
  if (bias.numel == 0 || bias.direct)
    return args.mask.address;
  void* made = parts.take(bias.bytes(args.query.dtype));
  bias.make(dnn, stream, args.mask, args.query.dtype, made);
  return made;
}

} // namespace

size_t CudaDnn::attention_workspace_bytes(const AttentionArgs& args) {
  const Bias bias(args);
  const AttentionPlan& plan =
      plan_for(dnn_context(t_state.device), key_of(args, bias));
  return bias.bytes(args.query.dtype) + aligned(plan.workspace_bytes());
}

size_t CudaDnn::attention_workspace_bytes(const AttentionBackwardArgs& args) {
  const Bias bias(args.forward);
  const AttentionPlan& plan =
      plan_for(dnn_context(t_state.device), key_of(args, bias));
  return bias.bytes(args.forward.query.dtype) +
      float_bytes(args.forward.lse.numel) +
      (plan.sums_query() ? float_bytes(args.forward.query.numel) : 0) +
      aligned(plan.workspace_bytes());
}

void CudaDnn::attention(Stream& stream, const AttentionArgs& args) {
  const cudaStream_t to = native(stream);
  DnnContext& context = dnn_context(stream.device());
  const Bias bias(args);
  AttentionPlan& plan = plan_for(context, key_of(args, bias));
  Parts parts(args.workspace);
  void* operands[kAttentionOperands] = {};
  put_forward(operands, args);
  operands[kBias] = bring_bias(*this, stream, args, bias, parts);
  void* workspace = parts.take(aligned(plan.workspace_bytes()));
  plan.run(context.on(to), operands, workspace);
}

void CudaDnn::attention_backward(
    Stream& stream,
    const AttentionBackwardArgs& args) {
  const cudaStream_t to = native(stream);
  DnnContext& context = dnn_context(stream.device());
  const Bias bias(args.forward);
  AttentionPlan& plan = plan_for(context, key_of(args, bias));
  Parts parts(args.workspace);
  void* operands[kAttentionOperands] = {};
  put_forward(operands, args.forward);
  operands[kBias] = bring_bias(*this, stream, args.forward, bias, parts);
  operands[kGradOut] = args.grad_out.address;
  operands[kGradQuery] = args.grad_query.address;
  operands[kGradKey] = args.grad_key.address;
  operands[kGradValue] = args.grad_value.address;
  operands[kDeltas] = parts.take(float_bytes(args.forward.lse.numel));
  if (plan.sums_query()) {
    const size_t bytes = float_bytes(args.forward.query.numel);
    operands[kQuerySums] = parts.take(bytes);
    // Before 9.6 cuDNN added to what it found there.
    if (cudnnGetVersion() < 90600)
      check(cudaMemsetAsync(operands[kQuerySums], 0, bytes, to));
  }
  void* workspace = parts.take(aligned(plan.workspace_bytes()));
  plan.run(context.on(to), operands, workspace);
}

} // namespace musa_standin::engine::cuda
