// SPDX-License-Identifier: Apache-2.0
// Matrix products on the CPU engine: oneDNN's sgemm on chunks of the result,
// our own loops for double and int64.
#include "toolkit/engine/cpu/gemm_kernels.h"

#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

#include "toolkit/engine/error.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cstring>

namespace musa_standin::engine::cpu {
namespace {

constexpr int64_t kConvertGrain = 16384; // elements
constexpr int64_t kChunkWork = 1 << 21;  // floating operations
constexpr int64_t kChunkExtent = 128; // rows or columns, where there are enough
constexpr int64_t kChunksPerThread = 3;
constexpr size_t kAlign = 64;

// One operand: dense matrices, `batch_step` elements apart (0: one for all).
struct Operand {
  char* address;
  int64_t batch_step;
  int64_t ld;
  int64_t numel;
};

struct MatmulJob {
  Dtype dtype;
  bool transpose_a;
  bool transpose_b;
  bool tf32;
  int64_t batch;
  int64_t m;
  int64_t n;
  int64_t k;
  double alpha;
  double beta;
  double gamma;
  Operand a;
  Operand b;
  Operand c; // address null: absent
  Operand d;
  char* bias;
  char* workspace;
  const GemmKernels* kernels;
};

Operand operand(const View& v) {
  Operand o{};
  if (!v.present())
    return o;
  o.address = static_cast<char*>(v.address);
  o.ld = v.rank == 1 ? 1 : v.dims[v.rank - 1];
  o.batch_step = v.rank == 3 && v.dims[0] > 1 ? v.dims[1] * v.dims[2] : 0;
  o.numel = v.numel;
  return o;
}

bool narrow_type(Dtype dtype) {
  return dtype == Dtype::kHalf || dtype == Dtype::kBfloat16;
}

size_t aligned(int64_t floats) {
  const size_t bytes = static_cast<size_t>(floats) * sizeof(float);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// Rows or columns of one matrix of the result.
struct Part {
  int64_t batch;
  int64_t row;
  int64_t rows;
  int64_t column;
  int64_t columns;
};

struct Split {
  bool by_columns;
  int64_t chunk;
  int64_t per_matrix;
};

Split split(const MatmulJob& job) {
  const int64_t threads = pool_threads();
  Split s{job.n > job.m, 0, 1};
  const int64_t extent = s.by_columns ? job.n : job.m;
  const int64_t work = 2 * job.m * job.n * job.k;
  const int64_t wanted = std::min(
      {kChunksPerThread * threads,
       work * job.batch / kChunkWork,
       std::max(threads, extent * job.batch / kChunkExtent)});
  s.per_matrix = threads == 1
      ? 1
      : std::clamp((wanted + job.batch - 1) / job.batch, int64_t{1}, extent);
  // Whole vectors, where that leaves chunks of about the same size.
  const int64_t even = (extent + s.per_matrix - 1) / s.per_matrix;
  s.chunk = even >= 64 ? (even + 15) / 16 * 16 : even;
  s.per_matrix = (extent + s.chunk - 1) / s.chunk;
  return s;
}

Part part(const MatmulJob& job, const Split& s, int64_t unit) {
  Part p{unit / s.per_matrix, 0, job.m, 0, job.n};
  const int64_t first = unit % s.per_matrix * s.chunk;
  if (s.by_columns) {
    p.column = first;
    p.columns = std::min(s.chunk, job.n - first);
  } else {
    p.row = first;
    p.rows = std::min(s.chunk, job.m - first);
  }
  return p;
}

template <class F>
void for_parts(const MatmulJob& job, F&& f) {
  const Split s = split(job);
  const int64_t units = job.batch * s.per_matrix;
  const int64_t work = 2 * job.m * job.n * job.k / s.per_matrix;
  const int64_t grain =
      std::max<int64_t>(kChunkWork / std::max<int64_t>(work, 1), 1);
  parallel_for(units, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit)
      f(part(job, s, unit));
  });
}

// First elements of the part in each operand.
template <class T>
const T* a_of(const MatmulJob& job, const Part& p) {
  return reinterpret_cast<const T*>(job.a.address) +
      p.batch * job.a.batch_step + p.row * (job.transpose_a ? 1 : job.a.ld);
}
template <class T>
const T* b_of(const MatmulJob& job, const Part& p) {
  return reinterpret_cast<const T*>(job.b.address) +
      p.batch * job.b.batch_step + p.column * (job.transpose_b ? job.b.ld : 1);
}
template <class T>
T* result_of(const MatmulJob& job, const Operand& o, const Part& p) {
  return reinterpret_cast<T*>(o.address) + p.batch * job.m * job.n +
      p.row * job.n + p.column;
}

// d starts as c where c is another matrix.
template <class T>
void bring_c(const MatmulJob& job, const Part& p, T* d) {
  if (job.c.address == nullptr || job.beta == 0 ||
      job.c.address == job.d.address)
    return;
  const T* c = result_of<T>(job, job.c, p);
  for (int64_t row = 0; row < p.rows; ++row)
    std::memcpy(
        d + row * job.n,
        c + row * job.n,
        static_cast<size_t>(p.columns) * sizeof(T));
}

double beta_of(const MatmulJob& job) {
  return job.c.address != nullptr ? job.beta : 0;
}

void sgemm(const MatmulJob& job, const Part& p, float* out, double beta) {
  const dnnl_status_t status = dnnl_sgemm(
      job.transpose_a ? 'T' : 'N',
      job.transpose_b ? 'T' : 'N',
      p.rows,
      p.columns,
      job.k,
      static_cast<float>(job.alpha),
      a_of<float>(job, p),
      job.a.ld,
      b_of<float>(job, p),
      job.b.ld,
      static_cast<float>(beta),
      out,
      job.n);
  if (status != dnnl_success)
    throw Error(musaErrorUnknown, "oneDNN refused a matrix product");
}

GemmEpilogue epilogue_of(const MatmulJob& job, const Part& p) {
  GemmEpilogue e{};
  e.dtype = job.dtype;
  e.n = p.columns;
  e.ld = job.n;
  e.d = job.d.address +
      (p.batch * job.m * job.n + p.row * job.n + p.column) *
          element_bytes(job.dtype);
  e.product = e.d;
  if (job.bias != nullptr)
    e.bias = job.bias + p.column * element_bytes(job.dtype);
  e.beta = job.beta;
  e.gamma = job.gamma;
  return e;
}

void float_part(const MatmulJob& job, const Part& p) {
  auto* d = result_of<float>(job, job.d, p);
  bring_c(job, p, d);
  sgemm(job, p, d, beta_of(job));
  if (job.bias != nullptr)
    job.kernels->epilogue(epilogue_of(job, p), 0, p.rows);
}

// Half and bfloat16: the product in float, c, bias and rounding after it.
void narrow_part(const MatmulJob& job, const Part& p, float* products) {
  Operand product{};
  product.address = reinterpret_cast<char*>(products);
  auto* out = result_of<float>(job, product, p);
  sgemm(job, p, out, 0);
  GemmEpilogue e = epilogue_of(job, p);
  e.product = out;
  if (beta_of(job) != 0)
    e.c = result_of<uint16_t>(job, job.c, p);
  job.kernels->epilogue(e, 0, p.rows);
}

template <class T>
Gemm<T> own_gemm(const MatmulJob& job, const Part& p, T* d, T alpha, T beta) {
  return {
      p.rows,
      p.columns,
      job.k,
      alpha,
      beta,
      a_of<T>(job, p),
      job.a.ld,
      b_of<T>(job, p),
      job.b.ld,
      d,
      job.n,
      job.transpose_a,
      job.transpose_b};
}

void double_part(const MatmulJob& job, const Part& p) {
  auto* d = result_of<double>(job, job.d, p);
  bring_c(job, p, d);
  job.kernels->gemm_double(own_gemm(job, p, d, job.alpha, beta_of(job)));
  if (job.bias != nullptr)
    job.kernels->epilogue(epilogue_of(job, p), 0, p.rows);
}

uint64_t integer(double factor) {
  return static_cast<uint64_t>(static_cast<int64_t>(factor));
}

void int64_part(const MatmulJob& job, const Part& p) {
  auto* d = result_of<uint64_t>(job, job.d, p);
  bring_c(job, p, d);
  job.kernels->gemm_uint64(
      own_gemm(job, p, d, integer(job.alpha), integer(beta_of(job))));
  if (job.bias == nullptr)
    return;
  const auto* bias = reinterpret_cast<const uint64_t*>(job.bias) + p.column;
  const uint64_t gamma = integer(job.gamma);
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t i = 0; i < p.columns; ++i)
      d[row * job.n + i] += gamma * bias[i];
  }
}

// Inputs as floats in the workspace; returns where the products go.
float* convert_inputs(MatmulJob& job) {
  char* at = job.workspace;
  for (Operand* o : {&job.a, &job.b}) {
    auto* to = reinterpret_cast<float*>(at);
    const char* from = o->address;
    parallel_for(o->numel, kConvertGrain, [&](int64_t begin, int64_t end) {
      if (job.dtype == Dtype::kFloat)
        job.kernels
            ->round_tf32(to, reinterpret_cast<const float*>(from), begin, end);
      else
        job.kernels->to_float(job.dtype, to, from, begin, end);
    });
    o->address = at;
    at += aligned(o->numel);
  }
  return reinterpret_cast<float*>(at);
}

void run_job(MatmulJob job) {
  for (Operand* o : {&job.a, &job.b, &job.c, &job.d}) {
    if (o->address != nullptr)
      o->address = host<char>(o->address);
  }
  if (job.bias != nullptr)
    job.bias = host<char>(job.bias);
  if (job.workspace != nullptr)
    job.workspace = host<char>(job.workspace);
  switch (job.dtype) {
  case Dtype::kDouble:
    return for_parts(job, [&](const Part& p) { double_part(job, p); });
  case Dtype::kInt64:
    return for_parts(job, [&](const Part& p) { int64_part(job, p); });
  case Dtype::kFloat:
    if (job.tf32)
      convert_inputs(job);
    return for_parts(job, [&](const Part& p) { float_part(job, p); });
  default: {
    float* products = convert_inputs(job);
    for_parts(job, [&](const Part& p) { narrow_part(job, p, products); });
  }
  }
}

} // namespace

size_t CpuDnn::matmul_workspace_bytes(const MatmulArgs& args) {
  const bool narrow = narrow_type(args.d.dtype);
  if (!narrow && !(args.tf32 && args.d.dtype == Dtype::kFloat))
    return 0;
  return aligned(args.a.numel) + aligned(args.b.numel) +
      (narrow ? aligned(args.d.numel) : 0);
}

void CpuDnn::matmul(Stream& stream, const MatmulArgs& args) {
  MatmulJob job{};
  job.dtype = args.d.dtype;
  job.transpose_a = args.transpose_a;
  job.transpose_b = args.transpose_b;
  job.tf32 = args.tf32 && job.dtype == Dtype::kFloat;
  const View& d = args.d;
  const int last = args.a.rank - 1;
  job.batch = d.rank == 3 ? d.dims[0] : 1;
  job.n = d.rank == 1 ? 1 : d.dims[d.rank - 1];
  job.m = d.rank == 1 ? d.dims[0] : d.dims[d.rank - 2];
  job.k = args.a.dims[args.transpose_a ? last - 1 : last];
  job.alpha = args.alpha;
  job.beta = args.beta;
  job.gamma = args.gamma;
  job.a = operand(args.a);
  job.b = operand(args.b);
  job.c = operand(args.c);
  job.d = operand(args.d);
  // A vector is a matrix of one column, however it is flagged.
  if (args.b.rank == 1)
    job.transpose_b = false;
  if (args.bias.present())
    job.bias = static_cast<char*>(args.bias.address);
  job.workspace = static_cast<char*>(args.workspace.address);
  job.kernels = &MUSA_ISA_PICK(kGemmKernels);
  submit(stream, "MatMul", [job] { run_job(job); });
}

} // namespace musa_standin::engine::cpu
