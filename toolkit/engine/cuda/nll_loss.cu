// SPDX-License-Identifier: Apache-2.0
// Negative log likelihood on the CUDA engine.
#include "toolkit/engine/cuda/device_error.h"
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/join.cuh"
#include "toolkit/engine/cuda/launch.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kAlone = 1 << 14; // positions that one block sums up
constexpr int kAloneThreads = 1024;
constexpr int64_t kFewScores = 1 << 18; // one launch is better than a fill

struct Sums {
  double loss;
  double weight;
};

// FLOAT scores [samples][classes][inner], a target of each sample and inner
// position. weight and total_weight may be null.
struct NllJob {
  LossReduction reduction;
  int64_t ignore;
  int64_t samples;
  int64_t classes;
  int64_t inner;
  float* out;      // backward: the scores' gradient
  const float* in; // backward: the loss's gradient
  float* total_weight;
  const int64_t* target;
  const float* weight;
  Sums* partial; // of each block, or null: one block
  int64_t blocks;
  DeviceError* slot;
  uint64_t task;

  __host__ __device__ int64_t positions() const { return samples * inner; }
};

// The class of a position, or -1 where it is ignored or not one.
__device__ int64_t class_of(const NllJob& job, int64_t position) {
  const int64_t target = job.target[position];
  if (target == job.ignore)
    return -1;
  if (target < 0 || target >= job.classes) {
    report(job.slot, musaErrorAssert, job.task);
    return -1;
  }
  return target;
}

__device__ float weight_of(const NllJob& job, int64_t target) {
  return job.weight != nullptr ? job.weight[target] : 1.0F;
}

// Of a position's class among the scores.
__device__ int64_t
score_at(const NllJob& job, int64_t position, int64_t target) {
  if (job.inner == 1)
    return position * job.classes + target;
  const int64_t sample = position / job.inner;
  return (sample * job.classes + target) * job.inner + position % job.inner;
}

__device__ void finish(const NllJob& job, const Sums& all) {
  const bool each = job.reduction == LossReduction::kNone;
  if (job.total_weight != nullptr)
    *job.total_weight = each ? 0.0F : static_cast<float>(all.weight);
  double divisor = 1;
  if (job.reduction == LossReduction::kMean)
    divisor = all.weight;
  else if (job.reduction == LossReduction::kBatchMean)
    divisor = static_cast<double>(job.samples);
  if (!each)
    *job.out = static_cast<float>(all.loss / divisor);
}

__device__ Sums block_sum(Sums s, Sums* warps) {
  return join_row(
      s,
      static_cast<int>(blockDim.x),
      warps,
      [](const Sums& a, const Sums& b) {
        return Sums{a.loss + b.loss, a.weight + b.weight};
      });
}

__global__ void __launch_bounds__(kAloneThreads) nll_forward(NllJob job) {
  __shared__ Sums warps[kMaxWarps];
  Sums s = {0, 0};
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t n = job.positions();
#pragma unroll 4
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       at < n;
       at += step) {
    const int64_t target = class_of(job, at);
    const float w = target < 0 ? 0.0F : weight_of(job, target);
    const float loss =
        target < 0 ? 0.0F : -w * job.in[score_at(job, at, target)];
    if (job.reduction == LossReduction::kNone)
      job.out[at] = loss;
    s.loss += static_cast<double>(loss);
    s.weight += static_cast<double>(w);
  }
  s = block_sum(s, warps);
  if (threadIdx.x != 0)
    return;
  if (job.partial != nullptr)
    job.partial[blockIdx.x] = s;
  else if (blockIdx.x == 0)
    finish(job, s);
}

__global__ void __launch_bounds__(kThreads) nll_join(NllJob job) {
  __shared__ Sums warps[kMaxWarps];
  Sums s = {0, 0};
  for (int64_t i = threadIdx.x; i < job.blocks; i += blockDim.x) {
    s.loss += job.partial[i].loss;
    s.weight += job.partial[i].weight;
  }
  s = block_sum(s, warps);
  if (threadIdx.x == 0)
    finish(job, s);
}

// Of the score of a position's class.
__device__ float gradient(const NllJob& job, int64_t at, int64_t target) {
  float divisor = 1;
  if (job.reduction == LossReduction::kMean)
    divisor = *job.total_weight;
  else if (job.reduction == LossReduction::kBatchMean)
    divisor = static_cast<float>(job.samples);
  const float grad = job.in[job.reduction == LossReduction::kNone ? at : 0];
  return -weight_of(job, target) * grad / divisor;
}

// A thread for each score.
__global__ void __launch_bounds__(kThreads) nll_scores(NllJob job) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= job.positions() * job.classes)
    return;
  const int64_t row = i / job.inner;
  const int64_t at = row / job.classes * job.inner + i % job.inner;
  const int64_t target = class_of(job, at);
  job.out[i] = target == row % job.classes ? gradient(job, at, target) : 0.0F;
}

// A thread for each position; all scores' gradients are 0 before.
__global__ void __launch_bounds__(kThreads) nll_positions(NllJob job) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= job.positions())
    return;
  const int64_t target = class_of(job, at);
  if (target >= 0)
    job.out[score_at(job, at, target)] = gradient(job, at, target);
}

NllJob make_job(
    engine::Stream& stream,
    const NllLossArgs& args,
    const View& scores,
    const char* name) {
  NllJob job{};
  job.reduction = args.reduction;
  job.ignore = args.ignore_index;
  job.samples = scores.rank == 1 ? 1 : scores.dims[0];
  job.classes = scores.dims[scores.rank == 1 ? 0 : 1];
  job.inner = 1;
  for (int i = 2; i < scores.rank; ++i)
    job.inner *= scores.dims[i];
  job.out = static_cast<float*>(args.out.address);
  job.in = static_cast<const float*>(args.in.address);
  job.total_weight = static_cast<float*>(args.total_weight.address);
  job.target = static_cast<const int64_t*>(args.target.address);
  if (args.weight.present())
    job.weight = static_cast<const float*>(args.weight.address);
  job.slot = error_slot(stream.device());
  job.task = task_address(name);
  return job;
}

dim3 blocks_for(int64_t n) {
  return {static_cast<unsigned>((n + kThreads - 1) / kThreads)};
}

} // namespace

void CudaDnn::nll_loss(Stream& stream, const NllLossArgs& args) {
  NllJob job = make_job(stream, args, args.in, "NLLLoss");
  const int64_t n = job.positions();
  const int64_t room =
      static_cast<int64_t>(args.workspace.bytes / sizeof(Sums));
  const bool each = job.reduction == LossReduction::kNone;
  // A loss of each position needs no sum; total_weight is the first block's.
  const bool alone =
      n <= kAlone || (!each && (args.workspace.address == nullptr || room < 2));
  if (alone) {
    // Also of nothing: the loss is 0, or 0 / 0.
    launch(stream, nll_forward, dim3(1), dim3(kAloneThreads), 0, job);
    return;
  }
  job.blocks = std::min<int64_t>(
      (n + kThreads * 4 - 1) / (kThreads * 4),
      int64_t{4} * multiprocessors(stream.device()));
  if (!each) {
    job.blocks = std::min(job.blocks, room);
    job.partial = static_cast<Sums*>(args.workspace.address);
  }
  launch(
      stream,
      nll_forward,
      dim3(static_cast<unsigned>(job.blocks)),
      dim3(kThreads),
      0,
      job);
  if (!each)
    launch(stream, nll_join, dim3(1), dim3(kThreads), 0, job);
}

void CudaDnn::nll_loss_backward(Stream& stream, const NllLossArgs& args) {
  const NllJob job = make_job(stream, args, args.out, "NLLLossBackward");
  const int64_t scores = job.positions() * job.classes;
  if (scores == 0)
    return;
  if (scores <= kFewScores) {
    launch(stream, nll_scores, blocks_for(scores), dim3(kThreads), 0, job);
    return;
  }
  check(cudaMemsetAsync(
      job.out,
      0,
      static_cast<size_t>(scores) * sizeof(float),
      native(stream)));
  launch(
      stream,
      nll_positions,
      blocks_for(job.positions()),
      dim3(kThreads),
      0,
      job);
}

} // namespace musa_standin::engine::cuda
