// SPDX-License-Identifier: Apache-2.0
// Matrix products on the CUDA engine: cuBLASLt's, our own for int64.
#include "toolkit/engine/cuda/check.h"
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/gemm_kernels.h"
#include "toolkit/engine/cuda/gemm_plan.h"
#include "toolkit/engine/cuda/library_check.h"
#include "toolkit/engine/cuda/stream.h"
#include "toolkit/engine/thread_state.h"

#include <algorithm>
#include <utility>

namespace musa_standin::engine::cuda {
namespace {

constexpr const char* kTask = "MatMul";
constexpr int64_t kMostBatches = 65535; // of one call: a grid's limit

// A row-major product by its operands. Vectors are matrices of one column.
struct Product {
  int64_t batch;
  int64_t m;
  int64_t n;
  int64_t k;
  bool transpose_a;
  bool transpose_b;
  bool one_a;
  bool one_b;
};

Product product_of(const MatmulArgs& args) {
  const View& d = args.d;
  const int last = args.a.rank - 1;
  Product p{};
  p.batch = d.rank == 3 ? d.dims[0] : 1;
  p.n = d.rank == 1 ? 1 : d.dims[d.rank - 1];
  p.m = d.rank == 1 ? d.dims[0] : d.dims[d.rank - 2];
  p.k = args.a.dims[args.transpose_a ? last - 1 : last];
  p.transpose_a = args.transpose_a;
  // A vector is a matrix of one column, however it is flagged.
  p.transpose_b = args.transpose_b && args.b.rank != 1;
  p.one_a = args.a.rank == 3 && args.a.dims[0] == 1;
  p.one_b = args.b.rank == 3 && args.b.dims[0] == 1;
  return p;
}

// One call of cuBLASLt.
struct Call {
  GemmKey key;
  const char* a;
  const char* b;
  const char* c;
  char* d;
};

uint8_t align_log2(const void* address) {
  constexpr uintptr_t kMost = 256;
  return static_cast<uint8_t>(
      __builtin_ctzll(reinterpret_cast<uintptr_t>(address) | kMost));
}

// cuBLASLt reads the vector in words of up to 16 bytes.
bool fuses_bias(const MatmulArgs& args) {
  return args.bias.present() && args.gamma == 1 &&
      args.d.dtype != Dtype::kDouble && align_log2(args.bias.address) >= 4;
}

// Row-major matrices are the transposes of column-major ones, so the operands
// change places.
Call call_of(const MatmulArgs& args, Product p) {
  Call call{};
  GemmKey& key = call.key;
  key.bias = fuses_bias(args) && p.batch <= kMostBatches ? 1 : 0;
  call.a = static_cast<const char*>(args.b.address);
  call.b = static_cast<const char*>(args.a.address);
  call.d = static_cast<char*>(args.d.address);
  call.c = args.c.present() && args.beta != 0
      ? static_cast<const char*>(args.c.address)
      : call.d;
  key.m = p.n;
  key.n = p.m;
  key.transpose_a = p.transpose_b;
  key.transpose_b = p.transpose_a;
  key.one_a = p.one_b;
  key.one_b = p.one_a;
  if (p.n == 1 && key.bias == 0) {
    // One column is the same either way: matrix times vector.
    std::swap(call.a, call.b);
    std::swap(key.m, key.n);
    key.transpose_a = !p.transpose_a;
    key.transpose_b = !p.transpose_b;
    key.one_a = p.one_a;
    key.one_b = p.one_b;
  }
  key.k = p.k;
  key.batch = p.batch;
  // A vector has no gaps seen as a column.
  if (key.m == 1)
    key.transpose_a = 1;
  if (key.n == 1)
    key.transpose_b = 0;
  if (key.one_a != 0 && key.one_b == 0 && key.transpose_b == 0) {
    // Matrices below each other, times one: a single product.
    key.n *= key.batch;
    key.batch = 1;
  }
  if (key.batch == 1)
    key.one_a = key.one_b = 0;
  key.dtype = static_cast<uint8_t>(args.d.dtype);
  key.tf32 = args.tf32 && args.d.dtype == Dtype::kFloat ? 1 : 0;
  key.align_a = align_log2(call.a);
  key.align_b = align_log2(call.b);
  key.align_c = align_log2(call.c);
  key.align_d = align_log2(call.d);
  return call;
}

// The calls that a product takes: batches beyond the limit go apart. f returns
// nothing.
template <class F>
void for_calls(Call call, F&& f) {
  if (__builtin_expect(call.key.batch <= kMostBatches, 1))
    return f(call);
  const int64_t batches = call.key.batch;
  const int64_t bytes = element_bytes(static_cast<Dtype>(call.key.dtype));
  const int64_t a = call.key.one_a != 0 ? 0 : call.key.m * call.key.k * bytes;
  const int64_t b = call.key.one_b != 0 ? 0 : call.key.n * call.key.k * bytes;
  const int64_t d = call.key.m * call.key.n * bytes;
  for (int64_t at = 0; at < batches; at += kMostBatches) {
    Call part = call;
    part.key.batch = std::min(kMostBatches, batches - at);
    part.a += at * a;
    part.b += at * b;
    part.c += at * d;
    part.d += at * d;
    part.key.align_a = align_log2(part.a);
    part.key.align_b = align_log2(part.b);
    part.key.align_c = align_log2(part.c);
    part.key.align_d = align_log2(part.d);
    f(part);
  }
}

void enqueue(
    cudaStream_t stream,
    const Call& call,
    GemmPlan& plan,
    const MatmulArgs& args) {
  const float alpha = static_cast<float>(args.alpha);
  const double beta = args.c.present() ? args.beta : 0;
  const float narrow_beta = static_cast<float>(beta);
  const void* factors[2] = {&alpha, &narrow_beta};
  if (plan.is_double) {
    factors[0] = &args.alpha;
    factors[1] = &beta;
  }
  if (plan.has_bias)
    check(
        cublasLtMatmulDescSetAttribute(
            &plan.product,
            CUBLASLT_MATMUL_DESC_BIAS_POINTER,
            static_cast<const void*>(&args.bias.address),
            sizeof args.bias.address),
        kTask);
  // Less workspace than the plan's: the library looks for another way.
  const bool fits = args.workspace.bytes >= plan.workspace_bytes;
  check(
      cublasLtMatmul(
          gemm_handle(call.key.device),
          &plan.product,
          factors[0],
          call.a,
          &plan.a,
          call.b,
          &plan.b,
          factors[1],
          call.c,
          &plan.d,
          call.d,
          &plan.d,
          fits ? &plan.algorithm : nullptr,
          args.workspace.address,
          args.workspace.bytes,
          stream),
      kTask);
}

void add_addends(
    engine::Stream& stream,
    const MatmulArgs& args,
    const Product& p,
    const View& c,
    double beta) {
  GemmAddends g{};
  g.dtype = args.d.dtype;
  g.rows = p.batch * p.m;
  g.n = p.n;
  g.c = c.present() && beta != 0 ? c.address : nullptr;
  g.bias = args.bias.present() ? args.bias.address : nullptr;
  g.d = args.d.address;
  g.beta = beta;
  g.gamma = args.gamma;
  add_to_gemm(stream, g);
}

void floating(engine::Stream& stream, const MatmulArgs& args, Product p) {
  if (p.k == 0)
    return add_addends(stream, args, p, args.c, args.beta);
  Call call = call_of(args, p);
  call.key.device = stream.device();
  const cudaStream_t to = native(stream);
  bool bias_done = false;
  for_calls(call, [&](const Call& part) {
    GemmPlan& plan = gemm_plan(part.key);
    bias_done = plan.has_bias;
    enqueue(to, part, plan, args);
  });
  if (args.bias.present() && !bias_done)
    add_addends(stream, args, p, args.d, 1);
}

// Not where the rounding to TF32 is asked for, nor without a first factor,
// whose infinities and NaNs cuBLASLt then leaves out.
bool is_small(const MatmulArgs& args, const Product& p) {
  return p.batch == 1 && p.m <= kSmallOutputs && p.n <= kSmallOutputs &&
      p.m * p.n <= kSmallOutputs && p.k <= kSmallDepth && p.k > 0 &&
      args.d.dtype <= Dtype::kBfloat16 && args.alpha != 0 &&
      !(args.tf32 && args.d.dtype == Dtype::kFloat);
}

void small(engine::Stream& stream, const MatmulArgs& args, const Product& p) {
  SmallGemm g{};
  g.dtype = args.d.dtype;
  g.m = static_cast<int32_t>(p.m);
  g.n = static_cast<int32_t>(p.n);
  g.k = static_cast<int32_t>(p.k);
  g.a = args.a.address;
  g.b = args.b.address;
  if (args.c.present() && args.beta != 0)
    g.c = args.c.address;
  if (args.bias.present())
    g.bias = args.bias.address;
  g.d = args.d.address;
  g.a_row = p.transpose_a ? 1 : g.k;
  g.a_column = p.transpose_a ? g.m : 1;
  g.b_row = p.transpose_b ? 1 : g.n;
  g.b_column = p.transpose_b ? g.k : 1;
  g.alpha = static_cast<float>(args.alpha);
  g.beta = static_cast<float>(args.beta);
  g.gamma = static_cast<float>(args.gamma);
  small_gemm(stream, g);
}

uint64_t integer(double factor) {
  return static_cast<uint64_t>(static_cast<int64_t>(factor));
}

void integers(
    engine::Stream& stream,
    const MatmulArgs& args,
    const Product& p) {
  IntegerGemm g{};
  g.batch = p.batch;
  g.m = p.m;
  g.n = p.n;
  g.k = p.k;
  g.a = static_cast<const uint64_t*>(args.a.address);
  g.b = static_cast<const uint64_t*>(args.b.address);
  if (args.c.present() && args.beta != 0)
    g.c = static_cast<const uint64_t*>(args.c.address);
  if (args.bias.present())
    g.bias = static_cast<const uint64_t*>(args.bias.address);
  g.d = static_cast<uint64_t*>(args.d.address);
  g.a_step = p.one_a ? 0 : p.m * p.k;
  g.b_step = p.one_b ? 0 : p.k * p.n;
  g.alpha = integer(args.alpha);
  g.beta = integer(args.beta);
  g.gamma = integer(args.gamma);
  g.transpose_a = p.transpose_a;
  g.transpose_b = p.transpose_b;
  integer_gemm(stream, g);
}

} // namespace

size_t CudaDnn::matmul_workspace_bytes(const MatmulArgs& args) {
  const Product p = product_of(args);
  if (!is_floating(args.d.dtype) || args.d.numel == 0 || p.k == 0 ||
      is_small(args, p))
    return 0;
  Call call = call_of(args, p);
  // The caller's stream is one of the thread's device; were it not, its own
  // makes do with this much.
  call.key.device = t_state.device;
  size_t most = 0;
  for_calls(call, [&](const Call& part) {
    most = std::max(most, gemm_plan(part.key).workspace_bytes);
  });
  return most;
}

void CudaDnn::matmul(Stream& stream, const MatmulArgs& args) {
  if (args.d.numel == 0)
    return;
  const Product p = product_of(args);
  if (is_small(args, p))
    return small(stream, args, p);
  if (is_floating(args.d.dtype))
    return floating(stream, args, p);
  if (args.d.dtype != Dtype::kInt64)
    throw Error(
        musaErrorNotSupported,
        "MatMul: of integers the engine multiplies INT64 alone");
  integers(stream, args, p);
}

} // namespace musa_standin::engine::cuda
