// SPDX-License-Identifier: Apache-2.0
// Negative log likelihood on the CPU engine.
#include "toolkit/engine/cpu/dnn.h"

#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

#include "toolkit/engine/error.h"

#include <algorithm>
#include <string>

namespace musa_standin::engine::cpu {
namespace {

constexpr int64_t kGrain = 8192; // positions that are worth a thread's start
constexpr int64_t kParts = 256;  // partial sums, whatever the threads

// FLOAT scores [samples][classes][inner], a target of each sample and inner
// position. Device addresses; weight may be null.
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

  [[nodiscard]] int64_t positions() const { return samples * inner; }
};

NllJob make_job(const NllLossArgs& args, const View& scores) {
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
  return job;
}

NllJob on_host(const NllJob& job) {
  NllJob local = job;
  local.out = host<float>(job.out);
  local.in = host<const float>(job.in);
  local.target = host<const int64_t>(job.target);
  if (job.total_weight != nullptr)
    local.total_weight = host<float>(job.total_weight);
  if (job.weight != nullptr)
    local.weight = host<const float>(job.weight);
  return local;
}

// The class of a position, or -1 where it is ignored.
int64_t class_of(const NllJob& job, int64_t position) {
  const int64_t target = job.target[position];
  if (target == job.ignore)
    return -1;
  if (target < 0 || target >= job.classes)
    throw Error(
        musaErrorAssert,
        "target " + std::to_string(target) + " is not one of " +
            std::to_string(job.classes) + " classes");
  return target;
}

float weight_of(const NllJob& job, int64_t target) {
  return job.weight != nullptr ? job.weight[target] : 1.0F;
}

// Of a position's class among the scores.
int64_t score_at(const NllJob& job, int64_t position, int64_t target) {
  const int64_t sample = position / job.inner;
  return (sample * job.classes + target) * job.inner + position % job.inner;
}

struct Sums {
  double loss = 0;
  double weight = 0;
};

Sums sum(const NllJob& job, int64_t begin, int64_t end) {
  Sums s;
  for (int64_t at = begin; at < end; ++at) {
    const int64_t target = class_of(job, at);
    const float w = target < 0 ? 0.0F : weight_of(job, target);
    const float loss =
        target < 0 ? 0.0F : -w * job.in[score_at(job, at, target)];
    if (job.reduction == LossReduction::kNone)
      job.out[at] = loss;
    s.loss += static_cast<double>(loss);
    s.weight += static_cast<double>(w);
  }
  return s;
}

void run_forward(const NllJob& device) {
  const NllJob job = on_host(device);
  const int64_t n = job.positions();
  const int64_t part = std::max(kGrain, (n + kParts - 1) / kParts);
  Sums parts[kParts];
  parallel_for((n + part - 1) / part, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      parts[i] = sum(job, i * part, std::min(n, (i + 1) * part));
  });
  Sums all;
  for (const Sums& s : parts) {
    all.loss += s.loss;
    all.weight += s.weight;
  }
  if (job.total_weight != nullptr)
    *job.total_weight = job.reduction == LossReduction::kNone
        ? 0.0F
        : static_cast<float>(all.weight);
  switch (job.reduction) {
  case LossReduction::kNone:
    return;
  case LossReduction::kMean:
    *job.out = static_cast<float>(all.loss / all.weight);
    return;
  case LossReduction::kSum:
    *job.out = static_cast<float>(all.loss);
    return;
  case LossReduction::kBatchMean:
    *job.out = static_cast<float>(all.loss / static_cast<double>(job.samples));
    return;
  }
}

void run_backward(const NllJob& device) {
  const NllJob job = on_host(device);
  float divisor = 1;
  if (job.reduction == LossReduction::kMean)
    divisor = *job.total_weight;
  else if (job.reduction == LossReduction::kBatchMean)
    divisor = static_cast<float>(job.samples);
  const int64_t sample = job.classes * job.inner;
  const int64_t grain =
      std::max<int64_t>(4 * kGrain / std::max<int64_t>(sample, 1), 1);
  parallel_for(job.samples, grain, [&](int64_t begin, int64_t end) {
    std::fill(job.out + begin * sample, job.out + end * sample, 0.0F);
    for (int64_t at = begin * job.inner; at < end * job.inner; ++at) {
      const int64_t target = class_of(job, at);
      if (target < 0)
        continue;
      const float grad = job.in[job.reduction == LossReduction::kNone ? at : 0];
      job.out[score_at(job, at, target)] =
          -weight_of(job, target) * grad / divisor;
    }
  });
}

} // namespace

void CpuDnn::nll_loss(Stream& stream, const NllLossArgs& args) {
  const NllJob job = make_job(args, args.in);
  submit(stream, "NLLLoss", [job] { run_forward(job); });
}

void CpuDnn::nll_loss_backward(Stream& stream, const NllLossArgs& args) {
  const NllJob job = make_job(args, args.out);
  submit(stream, "NLLLossBackward", [job] { run_backward(job); });
}

} // namespace musa_standin::engine::cpu
