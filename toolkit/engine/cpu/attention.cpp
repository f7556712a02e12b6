// SPDX-License-Identifier: Apache-2.0
// Attention on the CPU engine: blocks of rows and keys between oneDNN's sgemm,
// so that no matrix of weights is ever there.
#include "toolkit/engine/cpu/attention_kernels.h"

#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

#include "toolkit/engine/error.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <limits>

namespace musa_standin::engine::cpu {
namespace {

constexpr int64_t kRows = 64;     // of a block
constexpr int64_t kKeys = 128;    // of a block
constexpr int64_t kDepth = 192;   // the longest head
constexpr int64_t kLoadRows = 64; // that are worth a thread's start
constexpr int64_t kAlign = 16;    // floats

int64_t aligned(int64_t floats) {
  return (floats + kAlign - 1) / kAlign * kAlign;
}

int64_t blocks(int64_t extent, int64_t size) {
  return (extent + size - 1) / size;
}

struct AttentionJob {
  int64_t batch;
  int64_t heads;
  int64_t groups;
  int64_t rows;
  int64_t keys;
  int64_t width;
  int64_t depth;
  float scale;
  bool causal;
  AttentionRows query;
  AttentionRows key;
  AttentionRows value;
  AttentionRows out;
  AttentionRows grad_out;
  AttentionRows grad_query;
  AttentionRows grad_key;
  AttentionRows grad_value;
  float* lse;
  Dtype mask_dtype;
  const char* mask; // null: none
  int64_t mask_strides[4];
  float* workspace;
  const AttentionKernels* kernels;
};

// Operands as dense floats, in the workspace.
struct Floats {
  const float* query;
  const float* key;
  const float* value;
  const float* grad_out;
  const float* deltas;
};

AttentionRows rows_of(const View& v) {
  AttentionRows rows{};
  rows.dtype = v.dtype;
  rows.address = static_cast<char*>(v.address);
  std::copy_n(v.dims, 4, rows.dims);
  std::copy_n(v.strides, 4, rows.strides);
  return rows;
}

int64_t row_count(const AttentionRows& rows) {
  return rows.dims[0] * rows.dims[1] * rows.dims[2];
}

size_t floats_bytes(const AttentionArgs& args) {
  return static_cast<size_t>(
             aligned(args.query.numel) + aligned(args.key.numel) +
             aligned(args.value.numel)) *
      sizeof(float);
}

AttentionJob make_job(const AttentionArgs& args) {
  AttentionJob job{};
  job.batch = args.query.dims[0];
  job.heads = args.query.dims[1];
  job.rows = args.query.dims[2];
  job.width = args.query.dims[3];
  job.groups = args.key.dims[1];
  job.keys = args.key.dims[2];
  job.depth = args.value.dims[3];
  job.scale = static_cast<float>(args.scale);
  job.causal = args.causal;
  job.query = rows_of(args.query);
  job.key = rows_of(args.key);
  job.value = rows_of(args.value);
  job.out = rows_of(args.out);
  job.lse = static_cast<float*>(args.lse.address);
  if (args.mask.present()) {
    job.mask = static_cast<const char*>(args.mask.address);
    job.mask_dtype = args.mask.dtype;
    std::copy_n(args.mask.strides, 4, job.mask_strides);
  }
  job.kernels = &MUSA_ISA_PICK(kAttentionKernels);
  return job;
}

void to_host(AttentionJob& job) {
  for (AttentionRows* rows :
       {&job.query,
        &job.key,
        &job.value,
        &job.out,
        &job.grad_out,
        &job.grad_query,
        &job.grad_key,
        &job.grad_value}) {
    if (rows->address != nullptr)
      rows->address = host<char>(rows->address);
  }
  job.lse = host<float>(job.lse);
  if (job.mask != nullptr)
    job.mask = host<const char>(job.mask);
  job.workspace = host<float>(job.workspace);
}

// op(a) * op(b), row-major; added to c where `beta` is 1.
void sgemm(
    char transpose_a,
    char transpose_b,
    int64_t m,
    int64_t n,
    int64_t k,
    float alpha,
    const float* a,
    int64_t lda,
    const float* b,
    int64_t ldb,
    float beta,
    float* c,
    int64_t ldc) {
  const dnnl_status_t status = dnnl_sgemm(
      transpose_a,
      transpose_b,
      m,
      n,
      k,
      alpha,
      a,
      lda,
      b,
      ldb,
      beta,
      c,
      ldc);
  if (status != dnnl_success)
    throw Error(musaErrorUnknown, "oneDNN refused a matrix product");
}

float* load(const AttentionJob& job, const AttentionRows& rows, float*& free) {
  float* to = free;
  const int64_t count = row_count(rows);
  parallel_for(count, kLoadRows, [&](int64_t begin, int64_t end) {
    job.kernels->load(rows, to, begin, end);
  });
  free += aligned(count * rows.dims[3]);
  return to;
}

// One head's rows and the keys that they see, a block at a time.
struct Head {
  int64_t batch;
  int64_t head;
  const float* query;
  const float* key;
  const float* value;
};

Head head_of(const AttentionJob& job, const Floats& in, int64_t matrix) {
  Head h{};
  h.batch = matrix / job.heads;
  h.head = matrix % job.heads;
  const int64_t group =
      h.batch * job.groups + h.head / (job.heads / job.groups);
  h.query = in.query + matrix * job.rows * job.width;
  h.key = in.key + group * job.keys * job.width;
  h.value = in.value + group * job.keys * job.depth;
  return h;
}

// Keys that rows up to `end` may see.
int64_t seen_keys(const AttentionJob& job, int64_t end) {
  return job.causal ? std::min(job.keys, end) : job.keys;
}

void hide_later(
    const AttentionBlock& block,
    int64_t first_row,
    int64_t first_key) {
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t from =
        std::clamp(first_row + row + 1 - first_key, int64_t{0}, block.keys);
    std::fill(
        block.scores + row * block.ld + from,
        block.scores + row * block.ld + block.keys,
        -std::numeric_limits<float>::infinity());
  }
}

// Scaled and masked products of rows and keys from these on.
void score(
    const AttentionJob& job,
    const Head& h,
    const AttentionBlock& block,
    int64_t row,
    int64_t key) {
  sgemm(
      'N',
      'T',
      block.rows,
      block.keys,
      job.width,
      job.scale,
      h.query + row * job.width,
      job.width,
      h.key + key * job.width,
      job.width,
      0,
      block.scores,
      block.ld);
  if (job.mask != nullptr) {
    const int64_t at = h.batch * job.mask_strides[0] +
        h.head * job.mask_strides[1] + row * job.mask_strides[2] +
        key * job.mask_strides[3];
    job.kernels->mask(
        block,
        {job.mask_dtype,
         job.mask + at * element_bytes(job.mask_dtype),
         job.mask_strides[2],
         job.mask_strides[3]});
  }
  if (job.causal && key + block.keys > row + 1)
    hide_later(block, row, key);
}

void forward_block(
    const AttentionJob& job,
    const Floats& in,
    int64_t matrix,
    int64_t row) {
  alignas(64) float scores[kRows * kKeys];
  alignas(64) float out[kRows * kDepth];
  float maxima[kRows];
  float sums[kRows];
  const int64_t rows = std::min(kRows, job.rows - row);
  const Head h = head_of(job, in, matrix);
  std::fill_n(out, rows * job.depth, 0.0F);
  std::fill_n(sums, rows, 0.0F);
  std::fill_n(maxima, rows, -std::numeric_limits<float>::infinity());
  const int64_t end = seen_keys(job, row + rows);
  for (int64_t key = 0; key < end; key += kKeys) {
    const int64_t keys = std::min(kKeys, end - key);
    const AttentionBlock block{scores, rows, keys, keys};
    score(job, h, block, row, key);
    job.kernels->accumulate(block, maxima, sums, out, job.depth);
    sgemm(
        'N',
        'N',
        rows,
        job.depth,
        keys,
        1,
        scores,
        keys,
        h.value + key * job.depth,
        job.depth,
        1,
        out,
        job.depth);
  }
  job.kernels->finish(maxima, sums, out, rows, job.depth);
  const int64_t first = matrix * job.rows + row;
  std::copy_n(sums, rows, job.lse + first);
  job.kernels->store(job.out, out, first, first + rows);
}

// f(matrix, first row or key) for blocks of an extent of each matrix.
template <class F>
void for_blocks(int64_t matrices, int64_t extent, int64_t size, F&& f) {
  const int64_t per_matrix = blocks(extent, size);
  parallel_for(matrices * per_matrix, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit)
      f(unit / per_matrix, unit % per_matrix * size);
  });
}

void run_forward(AttentionJob job) {
  to_host(job);
  float* free = job.workspace;
  Floats in{};
  in.query = load(job, job.query, free);
  in.key = load(job, job.key, free);
  in.value = load(job, job.value, free);
  for_blocks(
      job.batch * job.heads,
      job.rows,
      kRows,
      [&](int64_t matrix, int64_t row) {
        forward_block(job, in, matrix, row);
      });
}

// A block's weights, and the gradient of its products in their place of the
// gradient of the weights.
void differentiate(
    const AttentionJob& job,
    const Floats& in,
    const Head& h,
    int64_t row,
    int64_t key,
    const AttentionBlock& weights,
    const AttentionBlock& gradient) {
  const int64_t first = (h.batch * job.heads + h.head) * job.rows + row;
  score(job, h, weights, row, key);
  job.kernels->weights(weights, job.lse + first);
  sgemm(
      'N',
      'T',
      weights.rows,
      weights.keys,
      job.depth,
      1,
      in.grad_out + first * job.depth,
      job.depth,
      h.value + key * job.depth,
      job.depth,
      0,
      gradient.scores,
      gradient.ld);
  job.kernels->gradient(gradient, weights.scores, in.deltas + first, job.scale);
}

void query_block(
    const AttentionJob& job,
    const Floats& in,
    int64_t matrix,
    int64_t row) {
  alignas(64) float weights[kRows * kKeys];
  alignas(64) float gradient[kRows * kKeys];
  alignas(64) float sum[kRows * kDepth];
  const int64_t rows = std::min(kRows, job.rows - row);
  const Head h = head_of(job, in, matrix);
  std::fill_n(sum, rows * job.width, 0.0F);
  const int64_t end = seen_keys(job, row + rows);
  for (int64_t key = 0; key < end; key += kKeys) {
    const int64_t keys = std::min(kKeys, end - key);
    differentiate(
        job,
        in,
        h,
        row,
        key,
        {weights, rows, keys, keys},
        {gradient, rows, keys, keys});
    sgemm(
        'N',
        'N',
        rows,
        job.width,
        keys,
        1,
        gradient,
        keys,
        h.key + key * job.width,
        job.width,
        1,
        sum,
        job.width);
  }
  const int64_t first = matrix * job.rows + row;
  job.kernels->store(job.grad_query, sum, first, first + rows);
}

// Sums of one block of keys over the rows of all heads that share it.
void key_block(
    const AttentionJob& job,
    const Floats& in,
    int64_t group,
    int64_t key) {
  alignas(64) float weights[kRows * kKeys];
  alignas(64) float gradient[kRows * kKeys];
  alignas(64) float grad_key[kKeys * kDepth];
  alignas(64) float grad_value[kKeys * kDepth];
  const int64_t keys = std::min(kKeys, job.keys - key);
  const int64_t shared = job.heads / job.groups;
  std::fill_n(grad_key, keys * job.width, 0.0F);
  std::fill_n(grad_value, keys * job.depth, 0.0F);
  const int64_t start = job.causal ? key / kRows * kRows : 0;
  for (int64_t matrix = group * shared; matrix < (group + 1) * shared;
       ++matrix) {
    const Head h = head_of(job, in, matrix);
    for (int64_t row = start; row < job.rows; row += kRows) {
      const int64_t rows = std::min(kRows, job.rows - row);
      differentiate(
          job,
          in,
          h,
          row,
          key,
          {weights, rows, keys, keys},
          {gradient, rows, keys, keys});
      sgemm(
          'T',
          'N',
          keys,
          job.depth,
          rows,
          1,
          weights,
          keys,
          in.grad_out + (matrix * job.rows + row) * job.depth,
          job.depth,
          1,
          grad_value,
          job.depth);
      sgemm(
          'T',
          'N',
          keys,
          job.width,
          rows,
          1,
          gradient,
          keys,
          h.query + row * job.width,
          job.width,
          1,
          grad_key,
          job.width);
    }
  }
  const int64_t first = group * job.keys + key;
  job.kernels->store(job.grad_key, grad_key, first, first + keys);
  job.kernels->store(job.grad_value, grad_value, first, first + keys);
}

void run_backward(AttentionJob job) {
  to_host(job);
  float* free = job.workspace;
  Floats in{};
  in.query = load(job, job.query, free);
  in.key = load(job, job.key, free);
  in.value = load(job, job.value, free);
  in.grad_out = load(job, job.grad_out, free);
  const float* out = load(job, job.out, free);
  float* deltas = free;
  in.deltas = deltas;
  const int64_t rows = job.batch * job.heads * job.rows;
  parallel_for(rows, kLoadRows, [&](int64_t begin, int64_t end) {
    job.kernels->dots(
        in.grad_out + begin * job.depth,
        out + begin * job.depth,
        deltas + begin,
        end - begin,
        job.depth);
  });
  for_blocks(
      job.batch * job.heads,
      job.rows,
      kRows,
      [&](int64_t matrix, int64_t row) { query_block(job, in, matrix, row); });
  for_blocks(
      job.batch * job.groups,
      job.keys,
      kKeys,
      [&](int64_t group, int64_t key) { key_block(job, in, group, key); });
}

} // namespace

size_t CpuDnn::attention_workspace_bytes(const AttentionArgs& args) {
  return floats_bytes(args);
}

size_t CpuDnn::attention_workspace_bytes(const AttentionBackwardArgs& args) {
  return floats_bytes(args.forward) +
      static_cast<size_t>(
          2 * aligned(args.forward.out.numel) +
          aligned(args.forward.lse.numel)) *
      sizeof(float);
}

void CpuDnn::attention(Stream& stream, const AttentionArgs& args) {
  AttentionJob job = make_job(args);
  job.workspace = static_cast<float*>(args.workspace.address);
  submit(stream, "ScaledDotProductAttention", [job] { run_forward(job); });
}

void CpuDnn::attention_backward(
    Stream& stream,
    const AttentionBackwardArgs& args) {
  AttentionJob job = make_job(args.forward);
  job.grad_out = rows_of(args.grad_out);
  job.grad_query = rows_of(args.grad_query);
  job.grad_key = rows_of(args.grad_key);
  job.grad_value = rows_of(args.grad_value);
  job.workspace = static_cast<float*>(args.workspace.address);
  submit(stream, "ScaledDotProductAttentionBackward", [job] {
    run_backward(job);
  });
}

} // namespace musa_standin::engine::cpu
