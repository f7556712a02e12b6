// SPDX-License-Identifier: Apache-2.0
// Convolution passes as graphs of one operation, and cuDNN's engines for them.
#include "toolkit/engine/cuda/conv_problem.h"

#include "toolkit/engine/cuda/check.h"
#include "toolkit/engine/cuda/library_check.h"
#include "toolkit/engine/dnn_types.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

constexpr const char* kTask = "Convolution";
constexpr int kMaxDims = kMaxSpatial + 2;
constexpr int64_t kMostCandidates = 64;
// More is asked for only where nothing else works.
constexpr size_t kMostWorkspace = size_t{1} << 30;

// Operands, as the graph and its variant packs name them.
enum Operand : int64_t { kIn = 1, kFilter, kOut };

cudnnDataType_t data_type(int32_t dtype) {
  switch (static_cast<Dtype>(dtype)) {
  case Dtype::kFloat:
    return CUDNN_DATA_FLOAT;
  case Dtype::kHalf:
    return CUDNN_DATA_HALF;
  case Dtype::kBfloat16:
    return CUDNN_DATA_BFLOAT16;
  case Dtype::kDouble:
    return CUDNN_DATA_DOUBLE;
  default:
    throw Error(
        musaErrorNotSupported,
        "Convolution: cuDNN convolves floating types alone");
  }
}

// A dense tensor of sizes first, channels and the spatial ones.
CudnnDescriptor make_tensor(
    const ConvKey& key,
    Operand id,
    int64_t first,
    int64_t channels,
    const int64_t (&spatial)[kMaxSpatial],
    bool channels_last) {
  const int rank = key.spatial + 2;
  int64_t dims[kMaxDims] = {first, channels};
  std::copy_n(spatial, key.spatial, dims + 2);
  int64_t strides[kMaxDims] = {};
  int64_t step = 1;
  if (channels_last) {
    strides[1] = step;
    step *= channels;
  }
  for (int i = rank - 1; i >= 2; --i) {
    strides[i] = step;
    step *= dims[i];
  }
  if (!channels_last) {
    strides[1] = step;
    step *= channels;
  }
  strides[0] = step;
  const int64_t alignment = id == kIn ? key.align_in
      : id == kFilter                 ? key.align_filter
                                      : key.align_out;
  const cudnnDataType_t type = data_type(key.dtype);
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, dims);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, strides);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  tensor.finalize();
  return tensor;
}

CudnnDescriptor make_convolution(const ConvKey& key) {
  const cudnnDataType_t compute =
      static_cast<Dtype>(key.dtype) == Dtype::kDouble ? CUDNN_DATA_DOUBLE
                                                      : CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  CudnnDescriptor conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  conv.set(
      CUDNN_ATTR_CONVOLUTION_CONV_MODE,
      CUDNN_TYPE_CONVOLUTION_MODE,
      1,
      &mode);
  conv.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{key.spatial});
  const auto set = [&](auto name, const int32_t(&values)[kMaxSpatial]) {
    int64_t wide[kMaxSpatial];
    std::copy_n(values, kMaxSpatial, wide);
    conv.set(name, CUDNN_TYPE_INT64, key.spatial, wide);
  };
  set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, key.pad);
  set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, key.pad);
  set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, key.stride);
  set(CUDNN_ATTR_CONVOLUTION_DILATIONS, key.dilation);
  conv.finalize();
  return conv;
}

// Names of a pass's attributes.
struct PassNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t alpha;
  cudnnBackendAttributeName_t beta;
  cudnnBackendAttributeName_t convolution;
  cudnnBackendAttributeName_t in;
  cudnnBackendAttributeName_t filter;
  cudnnBackendAttributeName_t out;
};

// In the order of ConvPass.
constexpr PassNames kPassNames[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

CudnnDescriptor make_operation(const ConvKey& key) {
  const PassNames& names = kPassNames[static_cast<int>(key.pass)];
  const bool images_last = key.images_last != 0;
  const CudnnDescriptor in =
      make_tensor(key, kIn, key.n, key.ic, key.in, images_last);
  const CudnnDescriptor filter = make_tensor(
      key,
      kFilter,
      key.oc,
      key.ic / key.groups,
      key.kernel,
      key.filter_last != 0);
  const CudnnDescriptor out =
      make_tensor(key, kOut, key.n, key.oc, key.out, images_last);
  CudnnDescriptor operation(names.operation);
  operation.set(names.convolution, make_convolution(key));
  operation.set(names.in, in);
  operation.set(names.filter, filter);
  operation.set(names.out, out);
  const auto factor = [&](cudnnBackendAttributeName_t name, double value) {
    const float narrow = static_cast<float>(value);
    if (static_cast<Dtype>(key.dtype) == Dtype::kDouble)
      operation.set(name, CUDNN_TYPE_DOUBLE, 1, &value);
    else
      operation.set(name, CUDNN_TYPE_FLOAT, 1, &narrow);
  };
  factor(names.alpha, 1);
  factor(names.beta, 0);
  operation.finalize();
  return operation;
}

CudnnDescriptor make_graph(cudnnHandle_t handle, const ConvKey& key) {
  const CudnnDescriptor operation = make_operation(key);
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph.finalize();
  return graph;
}

struct Notes {
  bool tensor_core = false;
  bool down_converts = false;
  bool nondeterministic = false;
};

Notes notes_of(const CudnnDescriptor& candidate) {
  const CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  candidate.get(
      CUDNN_ATTR_ENGINECFG_ENGINE,
      CUDNN_TYPE_BACKEND_DESCRIPTOR,
      1,
      &handle);
  constexpr int64_t kMostNotes = 32; // libraries later than the header's too
  cudnnBackendNumericalNote_t values[kMostNotes];
  const int64_t count = engine.get(
      CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
      CUDNN_TYPE_NUMERICAL_NOTE,
      kMostNotes,
      values);
  Notes notes;
  for (int64_t i = 0; i < std::min(count, kMostNotes); ++i) {
    notes.tensor_core |= values[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    notes.down_converts |=
        values[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    notes.nondeterministic |=
        values[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
  }
  return notes;
}

// What may serve, in the heuristic's order: no lower precision than the caller
// asks for.
std::vector<ConvCandidate> candidates_for(
    const CudnnDescriptor& graph,
    const ConvKey& key) {
  const bool exact =
      static_cast<Dtype>(key.dtype) == Dtype::kFloat && key.tf32 == 0;
  std::vector<ConvCandidate> made;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (CudnnDescriptor& candidate :
         cudnn_proposals(graph, mode, kMostCandidates)) {
      const Notes notes = notes_of(candidate);
      if (notes.down_converts || (exact && notes.tensor_core))
        continue;
      made.push_back({std::move(candidate), !notes.nondeterministic});
    }
  }
  return made;
}

// False if the candidate cannot be run.
bool make_plan(
    cudnnHandle_t handle,
    const ConvCandidate& candidate,
    ConvPlan& made) {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, candidate.config);
  if (cudnnBackendFinalize(plan.get()) != CUDNN_STATUS_SUCCESS)
    return false;
  int64_t bytes = 0;
  plan.get(
      CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
      CUDNN_TYPE_INT64,
      1,
      &bytes);
  made.plan = std::move(plan);
  made.workspace_bytes = static_cast<size_t>(bytes);
  made.deterministic = candidate.deterministic;
  return true;
}

CudnnDescriptor make_pack(const ConvPointers& pointers, void* workspace) {
  constexpr int64_t kCount = 3;
  const int64_t ids[kCount] = {kIn, kFilter, kOut};
  void* const addresses[kCount] = {pointers.in, pointers.filter, pointers.out};
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, kCount, ids);
  pack.set(
      CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
      CUDNN_TYPE_VOID_PTR,
      kCount,
      addresses);
  pack.set(
      CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
      CUDNN_TYPE_VOID_PTR,
      1,
      &workspace);
  pack.finalize();
  return pack;
}

} // namespace

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  check(cudnnBackendCreateDescriptor(type, &handle_), kTask);
}

CudnnDescriptor::~CudnnDescriptor() {
  if (handle_ != nullptr)
    (void)cudnnBackendDestroyDescriptor(handle_);
}

void CudnnDescriptor::set_bytes(
    cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type,
    int64_t count,
    const void* values) {
  check(cudnnBackendSetAttribute(handle_, name, type, count, values), kTask);
}

int64_t CudnnDescriptor::get_bytes(
    cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type,
    int64_t count,
    void* values) const {
  int64_t there = 0;
  check(
      cudnnBackendGetAttribute(handle_, name, type, count, &there, values),
      kTask);
  return there;
}

void CudnnDescriptor::set(
    cudnnBackendAttributeName_t name,
    const CudnnDescriptor& value) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.handle_);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, int64_t value) {
  set(name, CUDNN_TYPE_INT64, 1, &value);
}

void CudnnDescriptor::finalize() {
  check(cudnnBackendFinalize(handle_), kTask);
}

std::vector<CudnnDescriptor> cudnn_proposals(
    const CudnnDescriptor& graph,
    cudnnBackendHeurMode_t mode,
    int64_t most) {
  CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  std::vector<CudnnDescriptor> made;
  if (cudnnBackendFinalize(heuristic.get()) != CUDNN_STATUS_SUCCESS)
    return made;
  const int64_t count = std::min(
      heuristic.get(
          CUDNN_ATTR_ENGINEHEUR_RESULTS,
          CUDNN_TYPE_BACKEND_DESCRIPTOR,
          0,
          static_cast<cudnnBackendDescriptor_t*>(nullptr)),
      most);
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < count; ++i) {
    made.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    handles.push_back(made.back().get());
  }
  if (count == 0)
    return made;
  const int64_t filled = heuristic.get(
      CUDNN_ATTR_ENGINEHEUR_RESULTS,
      CUDNN_TYPE_BACKEND_DESCRIPTOR,
      count,
      handles.data());
  made.erase(made.begin() + std::min(filled, count), made.end());
  return made;
}

ConvProblem::ConvProblem(cudnnHandle_t handle, const ConvKey& key)
    : graph_(make_graph(handle, key)), candidates_(candidates_for(graph_, key)),
      handle_(handle) {}

ConvPlan* ConvProblem::proposal(size_t rank) {
  while (plans_.size() <= rank && tried_ < candidates_.size()) {
    ConvPlan made;
    if (!make_plan(handle_, candidates_[tried_++], made))
      continue;
    // Keep looking, but come back to it if there is nothing smaller.
    if (made.workspace_bytes <= kMostWorkspace)
      plans_.push_back(std::move(made));
    else
      big_.push_back(std::move(made));
  }
  if (plans_.empty())
    plans_.swap(big_);
  return rank < plans_.size() ? &plans_[rank] : nullptr;
}

size_t ConvProblem::first_deterministic() {
  size_t rank = 0;
  for (; const ConvPlan* plan = proposal(rank); ++rank) {
    if (plan->deterministic)
      return rank;
  }
  const auto big =
      std::find_if(big_.begin(), big_.end(), [](const ConvPlan& plan) {
        return plan.deterministic;
      });
  if (big != big_.end()) {
    plans_.push_back(std::move(*big));
    big_.erase(big);
  }
  return rank;
}

int ConvProblem::recommended() {
  const ConvPlan* plan = proposal(0);
  return plan == nullptr || plan->deterministic ? 0 : 1;
}

ConvPlan* ConvProblem::plan(int algorithm) {
  const auto number = static_cast<size_t>(algorithm);
  if (recommended() == 0)
    return proposal(number);
  // The first proposal is number 1, whatever number 0 turns out to be.
  if (number == 1)
    return proposal(0);
  const size_t steady = first_deterministic();
  if (number == 0)
    return proposal(steady);
  return proposal(number - 1 < steady ? number - 1 : number);
}

void run_plan(
    cudnnHandle_t handle,
    ConvPlan& plan,
    const ConvPointers& pointers,
    void* workspace) {
  const ConvPointers& known = plan.packed;
  const bool same = plan.pack.get() != nullptr && known.in == pointers.in &&
      known.filter == pointers.filter && known.out == pointers.out &&
      plan.packed_workspace == workspace;
  if (!same) {
    plan.pack = make_pack(pointers, workspace);
    plan.packed = pointers;
    plan.packed_workspace = workspace;
  }
  check(cudnnBackendExecute(handle, plan.plan.get(), plan.pack.get()), kTask);
}

} // namespace musa_standin::engine::cuda
