// SPDX-License-Identifier: Apache-2.0
// muDNN's ScaledDotProductAttention.
#include "toolkit/api/mudnn/checks.h"

#include <cmath>

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::AttentionArgs;
using engine::AttentionBackwardArgs;
using engine::Dtype;
using engine::View;

constexpr const char* kName = "ScaledDotProductAttention";
constexpr int kRank = 4;

// Sizes by meaning.
struct Sizes {
  explicit Sizes(const AttentionArgs& args)
      : batch(args.query.dims[0]), heads(args.query.dims[1]),
        rows(args.query.dims[2]), width(args.query.dims[3]),
        groups(args.key.dims[1]), keys(args.key.dims[2]),
        depth(args.value.dims[3]) {}

  int64_t batch;
  int64_t heads;
  int64_t rows;
  int64_t width;
  int64_t groups;
  int64_t keys;
  int64_t depth;
};

bool has_sizes(const View& v, const int64_t (&dims)[kRank]) {
  return v.rank == kRank && v.dims[0] == dims[0] && v.dims[1] == dims[1] &&
      v.dims[2] == dims[2] && v.dims[3] == dims[3];
}

bool head_fits(int64_t width, int64_t depth) {
  constexpr int64_t kMost = 128;
  return (width <= kMost && depth <= kMost) || (width == 192 && depth == 128) ||
      (width == 160 && depth == 160);
}

// A mask over [N, H, L, S]: strides of 0 where it repeats.
class Mask {
 public:
  // False if its sizes do not broadcast.
  bool spread(const View& given, const Sizes& sizes, bool padding) {
    view = given;
    if (given.rank == 0 || given.numel == 0) {
      view = View();
      return true;
    }
    const int64_t wanted[kRank] =
        {sizes.batch, sizes.heads, sizes.rows, sizes.keys};
    if (given.rank < 2 || given.rank > kRank)
      return false;
    for (int i = 0; i < kRank; ++i) {
      int from = i - (kRank - given.rank);
      if (padding && given.rank == 2)
        from = i == 0 ? 0 : i == kRank - 1 ? 1 : -1;
      dims_[i] = wanted[i];
      strides_[i] = 0;
      if (from < 0)
        continue;
      if (given.dims[from] != wanted[i] && given.dims[from] != 1)
        return false;
      strides_[i] = given.dims[from] == 1 ? 0 : given.strides[from];
    }
    view.rank = kRank;
    view.dims = dims_;
    view.strides = strides_;
    view.numel = wanted[0] * wanted[1] * wanted[2] * wanted[3];
    view.dense = false;
    return true;
  }

  View view;

 private:
  int64_t dims_[kRank] = {};
  int64_t strides_[kRank] = {};
};

Status check_operands(
    std::initializer_list<api::Operand> operands,
    Dtype type) {
  for (const api::Operand& o : operands) {
    if (const char* fault = api::operand_fault(*o.view))
      return api::refuse(
          Status::INVALID_PARAMETER,
          "%s: %s %s",
          kName,
          o.name,
          fault);
    if (o.view->rank != kRank)
      return api::refuse(
          Status::INVALID_PARAMETER,
          "%s: %s has rank %d instead of 4",
          kName,
          o.name,
          o.view->rank);
    if (o.view->dtype != type)
      return api::refuse_type(kName, o.name, o.view->dtype);
  }
  return Status::SUCCESS;
}

Status check_sizes(const AttentionArgs& args) {
  const Sizes s(args);
  if (!has_sizes(args.key, {s.batch, s.groups, s.keys, s.width}) ||
      !has_sizes(args.value, {s.batch, s.groups, s.keys, s.depth}))
    return api::refuse_sizes(kName, "key and value");
  if (s.keys == 0 || s.groups == 0 || s.heads % s.groups != 0)
    return api::refuse_sizes(kName, "key's heads");
  if (!has_sizes(args.out, {s.batch, s.heads, s.rows, s.depth}))
    return api::refuse_sizes(kName, "out");
  if (!head_fits(s.width, s.depth))
    return api::refuse(
        Status::NOT_SUPPORTED,
        "%s: no kernel for heads of %lld and %lld",
        kName,
        static_cast<long long>(s.width),
        static_cast<long long>(s.depth));
  const View& lse = args.lse;
  if (lse.dtype != Dtype::kFloat || !lse.dense)
    return api::refuse_type(kName, "lse", lse.dtype);
  if (lse.rank != 3 || lse.dims[0] != s.batch || lse.dims[1] != s.heads ||
      lse.dims[2] != s.rows)
    return api::refuse_sizes(kName, "lse");
  return Status::SUCCESS;
}

Status check_forward(const AttentionArgs& args, const View& mask) {
  const Dtype type = args.query.dtype;
  if (type != Dtype::kHalf && type != Dtype::kBfloat16)
    return api::refuse_type(kName, "query", type);
  Status status = check_operands(
      {{"query", &args.query},
       {"key", &args.key},
       {"value", &args.value},
       {"out", &args.out}},
      type);
  if (status == Status::SUCCESS)
    status = check_sizes(args);
  if (status != Status::SUCCESS)
    return status;
  if (mask.rank != 0 && mask.numel != 0 && mask.dtype != Dtype::kBool &&
      mask.dtype != Dtype::kFloat && mask.dtype != type)
    return api::refuse_type(kName, "mask", mask.dtype);
  return Status::SUCCESS;
}

// What the caller has told apart from the tensors, where it has.
bool agrees(const Sizes& s, int batch, int heads, int embed_dim) {
  return (batch == 0 || batch == s.batch) && (heads == 0 || heads == s.heads) &&
      (embed_dim == 0 || embed_dim == s.heads * s.depth);
}

bool repeats(const View& v) {
  for (int i = 0; i < v.rank; ++i) {
    if (v.dims[i] > 1 && v.strides[i] == 0)
      return true;
  }
  return false;
}

bool any_negative_stride(const AttentionArgs& args) {
  for (const View* v :
       {&args.out, &args.query, &args.key, &args.value, &args.mask}) {
    if (v->rank != 0 && api::has_negative_stride(*v))
      return true;
  }
  return false;
}

// Operands of the forward pass.
AttentionArgs operands(
    const Tensor& out,
    const Tensor& lse,
    const Tensor& query,
    const Tensor& key,
    const Tensor& value) {
  AttentionArgs args;
  args.out = Access::view(out);
  args.lse = Access::view(lse);
  args.query = Access::view(query);
  args.key = Access::view(key);
  args.value = Access::view(value);
  return args;
}

} // namespace

Status ScaledDotProductAttention::RunFlash(
    Handle& handle,
    Tensor& out,
    Tensor& lse,
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const Tensor& mask,
    Tensor& dropout_mask,
    const MemoryMaintainer& maintainer) {
  return api::run(kName, handle, [&](engine::Stream& stream) {
    AttentionArgs args = operands(out, lse, query, key, value);
    const View given = Access::view(mask);
    const Status status = check_forward(args, given);
    if (status != Status::SUCCESS)
      return status;
    const Sizes sizes(args);
    Mask spread;
    if (!spread.spread(given, sizes, padding_mask_))
      return api::refuse_sizes(kName, "mask");
    if (Access::view(dropout_mask).numel != 0 &&
        Access::view(dropout_mask).present())
      return api::refuse(
          Status::NOT_SUPPORTED,
          "%s: dropout is not supported",
          kName);
    if (!agrees(sizes, batch_, heads_, embed_dim_))
      return api::refuse_sizes(kName, "query against what was set");
    args.mask = spread.view;
    args.causal = causal_;
    args.scale =
        scale_ != 0 ? scale_ : 1 / std::sqrt(static_cast<double>(sizes.width));
    if (any_negative_stride(args))
      return api::hang(stream, kName);
    if (args.out.numel == 0 || args.query.numel == 0)
      return Status::SUCCESS;
    const api::OptionalWorkspace workspace(
        stream,
        engine::dnn().attention_workspace_bytes(args),
        maintainer);
    if (!workspace.ok())
      return api::refuse(Status::ALLOC_FAILED, "%s: no workspace", kName);
    args.workspace = workspace.get();
    engine::dnn().attention(stream, args);
    return Status::SUCCESS;
  });
}

Status ScaledDotProductAttention::RunFlashBwd(
    Handle& handle,
    Tensor& grad_query,
    Tensor& grad_key,
    Tensor& grad_value,
    const Tensor& grad_out,
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const Tensor& mask,
    const Tensor& out,
    const Tensor& lse,
    const Tensor& dropout_mask,
    const MemoryMaintainer& maintainer) {
  return api::run(
      "ScaledDotProductAttentionBackward",
      handle,
      [&](engine::Stream& stream) {
        AttentionBackwardArgs args;
        args.forward = operands(out, lse, query, key, value);
        args.grad_query = Access::view(grad_query);
        args.grad_key = Access::view(grad_key);
        args.grad_value = Access::view(grad_value);
        args.grad_out = Access::view(grad_out);
        const View given = Access::view(mask);
        Status status = check_forward(args.forward, given);
        if (status == Status::SUCCESS)
          status = check_operands(
              {{"grad_query", &args.grad_query},
               {"grad_key", &args.grad_key},
               {"grad_value", &args.grad_value},
               {"grad_out", &args.grad_out}},
              args.forward.query.dtype);
        if (status != Status::SUCCESS)
          return status;
        if (!api::same_dims(args.grad_query, args.forward.query) ||
            !api::same_dims(args.grad_key, args.forward.key) ||
            !api::same_dims(args.grad_value, args.forward.value) ||
            !api::same_dims(args.grad_out, args.forward.out))
          return api::refuse_sizes(kName, "the gradients");
        // Quirk 81.
        if (repeats(args.grad_out))
          return api::refuse(
              Status::INVALID_PARAMETER,
              "%s: grad_out with a stride of 0 must be contiguous",
              kName);
        const Sizes sizes(args.forward);
        Mask spread;
        if (!spread.spread(given, sizes, padding_mask_))
          return api::refuse_sizes(kName, "mask");
        if (Access::view(dropout_mask).numel != 0 &&
            Access::view(dropout_mask).present())
          return api::refuse(
              Status::NOT_SUPPORTED,
              "%s: dropout is not supported",
              kName);
        args.forward.mask = spread.view;
        args.forward.causal = causal_;
        args.forward.scale = scale_ != 0
            ? scale_
            : 1 / std::sqrt(static_cast<double>(sizes.width));
        args.deterministic = deterministic_;
        if (any_negative_stride(args.forward) ||
            api::has_negative_stride(args.grad_out) ||
            api::has_negative_stride(args.grad_query) ||
            api::has_negative_stride(args.grad_key) ||
            api::has_negative_stride(args.grad_value))
          return api::hang(stream, kName);
        if (args.forward.out.numel == 0 || args.forward.query.numel == 0)
          return Status::SUCCESS;
        const api::OptionalWorkspace workspace(
            stream,
            engine::dnn().attention_workspace_bytes(args),
            maintainer);
        if (!workspace.ok())
          return api::refuse(Status::ALLOC_FAILED, "%s: no workspace", kName);
        args.workspace = workspace.get();
        engine::dnn().attention_backward(stream, args);
        return Status::SUCCESS;
      });
}

} // namespace portable_1
} // namespace musa::dnn
