// SPDX-License-Identifier: Apache-2.0
// How cuBLASLt does a matrix product: asked once for each thread and sizes.
#include "toolkit/engine/cuda/gemm_plan.h"

#include "toolkit/engine/cuda/content_cache.h"
#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/library_check.h"

#include <atomic>
#include <mutex>

namespace musa_standin::engine::cuda {
namespace {

constexpr const char* kTask = "MatMul";
constexpr size_t kMostWorkspace = size_t{32} << 20;

cudaDataType_t data_type(Dtype dtype) {
  switch (dtype) {
  case Dtype::kHalf:
    return CUDA_R_16F;
  case Dtype::kBfloat16:
    return CUDA_R_16BF;
  case Dtype::kDouble:
    return CUDA_R_64F;
  default:
    return CUDA_R_32F;
  }
}

cublasComputeType_t compute_type(const GemmKey& key) {
  if (static_cast<Dtype>(key.dtype) == Dtype::kDouble)
    return CUBLAS_COMPUTE_64F;
  return key.tf32 != 0 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

template <class T>
void set(
    GemmPlan& plan,
    cublasLtMatmulDescAttributes_t attribute,
    const T& value) {
  check(
      cublasLtMatmulDescSetAttribute(
          &plan.product,
          attribute,
          static_cast<const void*>(&value),
          sizeof value),
      kTask);
}

template <class T>
void set(
    cublasLtMatrixLayoutOpaque_t& layout,
    cublasLtMatrixLayoutAttribute_t attribute,
    const T& value) {
  check(
      cublasLtMatrixLayoutSetAttribute(
          &layout,
          attribute,
          static_cast<const void*>(&value),
          sizeof value),
      kTask);
}

template <class T>
void set(
    cublasLtMatmulPreferenceOpaque_t& preference,
    cublasLtMatmulPreferenceAttributes_t attribute,
    const T& value) {
  check(
      cublasLtMatmulPreferenceSetAttribute(
          &preference,
          attribute,
          static_cast<const void*>(&value),
          sizeof value),
      kTask);
}

void describe(
    cublasLtMatrixLayoutOpaque_t& layout,
    const GemmKey& key,
    int64_t rows,
    int64_t columns,
    bool one) {
  check(
      cublasLtMatrixLayoutInit(
          &layout,
          data_type(static_cast<Dtype>(key.dtype)),
          static_cast<uint64_t>(rows),
          static_cast<uint64_t>(columns),
          rows),
      kTask);
  if (key.batch == 1)
    return;
  const int64_t step = one ? 0 : rows * columns;
  set(layout,
      CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
      static_cast<int32_t>(key.batch));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
}

void describe(GemmPlan& plan, const GemmKey& key) {
  plan.is_double = static_cast<Dtype>(key.dtype) == Dtype::kDouble;
  check(
      cublasLtMatmulDescInit(
          &plan.product,
          compute_type(key),
          plan.is_double ? CUDA_R_64F : CUDA_R_32F),
      kTask);
  const bool ta = key.transpose_a != 0;
  const bool tb = key.transpose_b != 0;
  set(plan, CUBLASLT_MATMUL_DESC_TRANSA, ta ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(plan, CUBLASLT_MATMUL_DESC_TRANSB, tb ? CUBLAS_OP_T : CUBLAS_OP_N);
  describe(plan.a, key, ta ? key.k : key.m, ta ? key.m : key.k, key.one_a != 0);
  describe(plan.b, key, tb ? key.n : key.k, tb ? key.k : key.n, key.one_b != 0);
  describe(plan.d, key, key.m, key.n, false);
}

// False if cuBLASLt has no algorithm for it.
bool choose(GemmPlan& plan, const GemmKey& key, bool bias) {
  set(plan,
      CUBLASLT_MATMUL_DESC_EPILOGUE,
      bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT);
  // Only its alignment is looked at before the call, which brings its own.
  if (bias)
    set(plan,
        CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        reinterpret_cast<const void*>(uintptr_t{16}));
  cublasLtMatmulPreferenceOpaque_t preference;
  check(cublasLtMatmulPreferenceInit(&preference), kTask);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
  // Parts of a sum are never rounded to half or bfloat16 before they are added
  // up; of the other types all schemes keep what they computed.
  if (static_cast<Dtype>(key.dtype) == Dtype::kHalf ||
      static_cast<Dtype>(key.dtype) == Dtype::kBfloat16)
    set(preference,
        CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  const auto align = [&](auto attribute, uint8_t log2) {
    set(preference, attribute, uint32_t{1} << log2);
  };
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.align_a);
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.align_b);
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.align_c);
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.align_d);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      gemm_handle(key.device),
      &plan.product,
      &plan.a,
      &plan.b,
      &plan.d,
      &plan.d,
      &preference,
      1,
      &found,
      &count);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED &&
      status != CUBLAS_STATUS_INVALID_VALUE)
    check(status, kTask);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0 ||
      found.state != CUBLAS_STATUS_SUCCESS)
    return false;
  plan.algorithm = found.algo;
  plan.workspace_bytes = found.workspaceSize;
  plan.has_bias = bias;
  return true;
}

GemmPlan make_plan(const GemmKey& key) {
  GemmPlan plan{};
  describe(plan, key);
  if (key.bias != 0 && choose(plan, key, true))
    return plan;
  if (!choose(plan, key, false))
    raise(CUBLAS_STATUS_NOT_SUPPORTED, kTask);
  return plan;
}

} // namespace

cublasLtHandle_t gemm_handle(int device) {
  struct Slot {
    std::atomic<cublasLtHandle_t> handle{nullptr};
    std::atomic<uint64_t> generation{0}; // of the context that it belongs to
  };
  static Slot slots[kMaxDevices];
  static std::mutex making;
  Slot& slot = slots[device];
  const uint64_t now = cuda::device(device).generation();
  if (__builtin_expect(
          slot.generation.load(std::memory_order_acquire) == now,
          1))
    return slot.handle.load(std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(making);
  if (slot.generation.load(std::memory_order_acquire) != now) {
    use_device(device);
    cublasLtHandle_t handle = nullptr;
    check(cublasLtCreate(&handle), kTask);
    // The one before, if any, is gone with its context.
    slot.handle.store(handle, std::memory_order_relaxed);
    slot.generation.store(now, std::memory_order_release);
  }
  return slot.handle.load(std::memory_order_relaxed);
}

GemmPlan& gemm_plan(const GemmKey& key) {
  thread_local ContentCache<GemmKey, GemmPlan> cache;
  if (GemmPlan* plan = cache.find(key))
    return *plan;
  return cache.insert(key, make_plan(key));
}

} // namespace musa_standin::engine::cuda
