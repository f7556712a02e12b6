// SPDX-License-Identifier: Apache-2.0
// Attention as cuDNN's fused engines know it: two products with softmax between
// them, and the five products of its gradients.
#include "toolkit/engine/cuda/attention_plan.h"

#include "toolkit/engine/cuda/attention_graph.h"
#include "toolkit/engine/cuda/check.h"
#include "toolkit/engine/cuda/library_check.h"
#include "toolkit/engine/dnn_types.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

namespace musa_standin::engine::cuda {
namespace {

constexpr const char* kTask = "ScaledDotProductAttention";
constexpr int64_t kMostCandidates = 16;

GraphDims strides_of(const int64_t (&strides)[kAttentionRank]) {
  return {strides[0], strides[1], strides[2], strides[3]};
}

GraphDims swapped(const GraphDims& d) {
  return {d[0], d[1], d[3], d[2]};
}

// What both graphs are made of.
struct Parts {
  explicit Parts(const AttentionKey& k)
      : key(k),
        type(
            static_cast<Dtype>(k.dtype) == Dtype::kHalf ? CUDNN_DATA_HALF
                                                        : CUDNN_DATA_BFLOAT16),
        graph(type), query_dims{k.batch, k.heads, k.rows, k.width},
        key_dims{k.batch, k.groups, k.keys, k.width},
        value_dims{k.batch, k.groups, k.keys, k.depth},
        out_dims{k.batch, k.heads, k.rows, k.depth},
        score_dims{k.batch, k.heads, k.rows, k.keys},
        row_dims{k.batch, k.heads, k.rows, 1},
        row_strides{k.heads * k.rows, k.rows, 1, 1} {}

  GraphTensor& query() {
    return graph.operand(kQuery, type, query_dims, strides_of(key.query));
  }
  // As the products read them: [N, G, E, S].
  GraphTensor& turned_key() {
    return graph
        .operand(kKey, type, swapped(key_dims), swapped(strides_of(key.key)));
  }
  GraphTensor& turned_value() {
    return graph.operand(
        kValue,
        type,
        swapped(value_dims),
        swapped(strides_of(key.value)));
  }
  GraphTensor& rows(AttentionOperand id) {
    return graph.operand(id, CUDNN_DATA_FLOAT, row_dims, row_strides);
  }

  // Scaled, with the bias.
  GraphTensor&
  scores(GraphTensor& query, GraphTensor& turned_key, GraphTensor& scale) {
    GraphTensor* made = &graph.map(
        CUDNN_POINTWISE_MUL,
        graph.product(query, turned_key, score_dims),
        scale);
    if (key.bias_batches != 0) {
      GraphTensor& bias = graph.operand(
          kBias,
          type,
          {key.bias_batches, key.bias_heads, key.rows, key.keys},
          strides_of(key.bias));
      made = &graph.map(CUDNN_POINTWISE_ADD, *made, bias);
    }
    return *made;
  }
  GraphTensor& masked(GraphTensor& scores) {
    return key.causal != 0 ? graph.up_to_diagonal(scores, graph.number(kHidden))
                           : scores;
  }

  const AttentionKey& key;
  cudnnDataType_t type;
  GraphBuilder graph;
  GraphDims query_dims;
  GraphDims key_dims;
  GraphDims value_dims;
  GraphDims out_dims;
  GraphDims score_dims;
  GraphDims row_dims;
  GraphDims row_strides;
};

void build_forward(Parts& p) {
  GraphBuilder& g = p.graph;
  GraphTensor& scores =
      p.masked(p.scores(p.query(), p.turned_key(), g.number(kScale)));
  GraphTensor& top = g.reduce(CUDNN_REDUCE_TENSOR_MAX, scores);
  GraphTensor& powers =
      g.map(CUDNN_POINTWISE_EXP, g.map(CUDNN_POINTWISE_SUB, scores, top));
  GraphTensor& sum = g.reduce(CUDNN_REDUCE_TENSOR_ADD, powers);
  g.map_into(
      CUDNN_POINTWISE_ADD,
      top,
      g.map(CUDNN_POINTWISE_LOG, sum),
      p.rows(kStats));
  GraphTensor& weights = g.map_narrow(CUDNN_POINTWISE_DIV, powers, sum);
  GraphTensor& value =
      g.operand(kValue, p.type, p.value_dims, strides_of(p.key.value));
  GraphTensor& out = g.operand(kOut, p.type, p.out_dims, strides_of(p.key.out));
  g.product_into(weights, value, out);
}

// turned^T * rows, summed over the heads that share a key.
void fold_heads(
    Parts& p,
    GraphTensor& turned,
    GraphTensor& rows,
    int64_t width,
    GraphTensor& out) {
  if (p.key.heads == p.key.groups)
    return p.graph.product_into(turned, rows, out);
  GraphTensor& all = p.graph.product_narrow(
      turned,
      rows,
      {p.key.batch, p.key.heads, p.key.keys, width});
  p.graph.reduce_into(CUDNN_REDUCE_TENSOR_ADD, all, out);
}

// Sums the gradient of query up in float, or, slower but always in one order,
// straight where it belongs.
void build_query_gradient(
    Parts& p,
    GraphTensor& scores,
    GraphTensor& turned_key,
    bool sums) {
  GraphBuilder& g = p.graph;
  GraphTensor& key = g.viewed(turned_key, p.key_dims, strides_of(p.key.key));
  GraphTensor& out =
      g.operand(kGradQuery, p.type, p.query_dims, strides_of(p.key.grad_query));
  if (!sums)
    return g.product_into(scores, key, out);
  const GraphDims& d = p.query_dims;
  GraphTensor& sum = g.operand(
      kQuerySums,
      CUDNN_DATA_FLOAT,
      d,
      {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1});
  g.product_into(scores, key, sum);
  g.map_into(CUDNN_POINTWISE_IDENTITY, sum, out);
}

void build_backward(Parts& p, bool sums_query) {
  GraphBuilder& g = p.graph;
  const AttentionKey& k = p.key;
  GraphTensor& query = p.query();
  GraphTensor& turned_key = p.turned_key();
  GraphTensor& turned_value = p.turned_value();
  GraphTensor& grad =
      g.operand(kGradOut, p.type, p.out_dims, strides_of(k.grad_out));
  GraphTensor& out = g.operand(kOut, p.type, p.out_dims, strides_of(k.out));
  GraphTensor& scale = g.number(kScale);

  // cuDNN looks for the factor that dropout would have here.
  GraphTensor& one = g.number(kOne);
  GraphTensor& deltas = p.rows(kDeltas);
  g.map_into(
      CUDNN_POINTWISE_MUL,
      g.reduce(CUDNN_REDUCE_TENSOR_ADD, g.map(CUDNN_POINTWISE_MUL, grad, out)),
      one,
      deltas);

  GraphTensor& scores = p.scores(query, turned_key, scale);
  GraphTensor& weights = g.map(
      CUDNN_POINTWISE_EXP,
      p.masked(g.map(CUDNN_POINTWISE_SUB, scores, p.rows(kStats))));
  fold_heads(
      p,
      g.transposed_narrow(weights),
      grad,
      k.depth,
      g.operand(kGradValue, p.type, p.value_dims, strides_of(k.grad_value)));

  GraphTensor& grad_weights = g.product(grad, turned_value, p.score_dims);
  GraphTensor& grad_scores = g.map(
      CUDNN_POINTWISE_MUL,
      g.map(
          CUDNN_POINTWISE_MUL,
          g.map(CUDNN_POINTWISE_SUB, grad_weights, deltas),
          weights),
      scale);
  fold_heads(
      p,
      g.transposed_narrow(grad_scores),
      query,
      k.width,
      g.operand(kGradKey, p.type, p.key_dims, strides_of(k.grad_key)));
  build_query_gradient(p, grad_scores, turned_key, sums_query);
}

bool is_deterministic(const CudnnDescriptor& candidate) {
  const CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  candidate.get(
      CUDNN_ATTR_ENGINECFG_ENGINE,
      CUDNN_TYPE_BACKEND_DESCRIPTOR,
      1,
      &handle);
  constexpr int64_t kMostNotes = 32;
  cudnnBackendNumericalNote_t notes[kMostNotes];
  const int64_t count = engine.get(
      CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
      CUDNN_TYPE_NUMERICAL_NOTE,
      kMostNotes,
      notes);
  cudnnBackendNumericalNote_t* const end = notes + std::min(count, kMostNotes);
  return std::find(notes, end, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) == end;
}

// The first of cuDNN's proposals that can be run; empty if there is none.
CudnnDescriptor first_plan(
    cudnnHandle_t handle,
    const CudnnDescriptor& graph,
    bool deterministic) {
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (const CudnnDescriptor& config :
         cudnn_proposals(graph, mode, kMostCandidates)) {
      if (deterministic && !is_deterministic(config))
        continue;
      CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (cudnnBackendFinalize(plan.get()) == CUDNN_STATUS_SUCCESS)
        return plan;
    }
  }
  return {};
}

} // namespace

AttentionPlan::AttentionPlan(cudnnHandle_t handle, const AttentionKey& key)
    : sums_query_(key.backward != 0 && key.deterministic == 0),
      // Before 9.10 cuDNN made NaN of infinities.
      hidden_(
          cudnnGetVersion() < 91000 ? std::numeric_limits<float>::lowest()
                                    : -std::numeric_limits<float>::infinity()) {
  double scale;
  std::memcpy(&scale, &key.scale_bits, sizeof scale);
  scale_ = static_cast<float>(scale);
  Parts parts(key);
  try {
    if (key.backward != 0)
      build_backward(parts, sums_query_);
    else
      build_forward(parts);
    plan_ = first_plan(
        handle,
        parts.graph.graph(handle),
        key.backward != 0 && key.deterministic != 0);
  } catch (const Error& error) {
    // A graph that this cuDNN does not take, for whatever reason, is a graph
    // without a plan.
    if (error.code() == musaErrorMemoryAllocation ||
        error.code() == musaErrorInitializationError)
      throw;
  }
  if (!works())
    return;
  int64_t bytes = 0;
  plan_.get(
      CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
      CUDNN_TYPE_INT64,
      1,
      &bytes);
  workspace_bytes_ = static_cast<size_t>(bytes);
  present_[kQuery] = present_[kKey] = present_[kValue] = true;
  present_[kOut] = present_[kStats] = present_[kScale] = true;
  present_[kBias] = key.bias_batches != 0;
  present_[kHidden] = key.causal != 0;
  for (const int id :
       {kGradOut, kGradQuery, kGradKey, kGradValue, kDeltas, kOne})
    present_[id] = key.backward != 0;
  present_[kQuerySums] = sums_query_;
}

void AttentionPlan::pack(
    void* const (&operands)[kAttentionOperands],
    void* workspace) {
  int64_t ids[kAttentionOperands];
  void* addresses[kAttentionOperands];
  int64_t count = 0;
  for (int id = 0; id < kAttentionOperands; ++id) {
    if (!present_[id])
      continue;
    ids[count] = id;
    addresses[count++] = id == kScale ? &scale_
        : id == kHidden               ? &hidden_
        : id == kOne                  ? &one_
                                      : operands[id];
  }
  CudnnDescriptor made(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  made.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids);
  made.set(
      CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
      CUDNN_TYPE_VOID_PTR,
      count,
      addresses);
  made.set(
      CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
      CUDNN_TYPE_VOID_PTR,
      1,
      &workspace);
  made.finalize();
  pack_ = std::move(made);
  std::copy_n(operands, kAttentionOperands, packed_);
  packed_workspace_ = workspace;
}

void AttentionPlan::run(
    cudnnHandle_t handle,
    void* const (&operands)[kAttentionOperands],
    void* workspace) {
  if (pack_.get() == nullptr || packed_workspace_ != workspace ||
      !std::equal(operands, operands + kAttentionOperands, packed_))
    pack(operands, workspace);
  check(cudnnBackendExecute(handle, plan_.get(), pack_.get()), kTask);
}

} // namespace musa_standin::engine::cuda
