// SPDX-License-Identifier: Apache-2.0
// Batch normalisation on the CUDA engine: which kernels, on which grids.
#include "toolkit/engine/cuda/batch_norm_kernels.h"

#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/pack.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

// Images of fewer elements are one launch, of a block for a channel or kWarp.
constexpr int64_t kAlone = int64_t{1} << 14;

void* address(const View& v) {
  return v.present() ? v.address : nullptr;
}

unsigned blocks_for(int64_t n, int64_t each) {
  return static_cast<unsigned>((n + each - 1) / each);
}

// The largest power of two that is at most n, from 1 to most.
unsigned power_below(int64_t n, unsigned most) {
  unsigned p = 1;
  while (p < most && int64_t{p} * 2 <= n)
    p *= 2;
  return p;
}

struct Call {
  engine::Stream& stream;
  BatchNormKernels kernels;
  BatchNormJob job;
  bool in_planes;
  int pack; // of the elements: kernels.pack or 1
  int processors;

  [[nodiscard]] int which() const { return pack > 1 ? 1 : 0; }
  void run(BatchNormKernel kernel, dim3 grid, dim3 block) const {
    launch(stream, kernel, grid, block, 0, job);
  }
};

void choose_pack(Call& call) {
  const BatchNormJob& job = call.job;
  const ChannelExtents& e = job.extents;
  call.in_planes = e.plane > 1;
  const int64_t run = call.in_planes ? e.plane : e.channels;
  const bool packed = run % call.kernels.pack == 0 && packable(job.in) &&
      packable(job.out) && packable(job.grad_out);
  call.pack = packed ? call.kernels.pack : 1;
}

void set_planes(BatchNormJob& job, int pack) {
  const ChannelExtents& e = job.extents;
  job.planes.rank = 0;
  job.planes.add(e.batch, e.channels * e.plane);
  job.planes.add(e.plane, 1);
  job.planes.pack(pack);
  job.planes.finish();
}

void run_alone(Call& call) {
  const ChannelExtents& e = call.job.extents;
  if (call.in_planes) {
    set_planes(call.job, 1);
    call.run(
        call.kernels.alone_planes,
        dim3(static_cast<unsigned>(e.channels)),
        dim3(kChannelThreads));
    return;
  }
  call.run(
      call.kernels.alone_rows,
      dim3(blocks_for(e.channels, kWarp)),
      dim3(kWarp, kChannelThreads / kWarp));
}

void run_apply(const Call& call) {
  const ChannelExtents& e = call.job.extents;
  if (call.in_planes) {
    const unsigned x = power_below(e.plane / call.pack, kChannelThreads);
    const unsigned y = kChannelThreads / x;
    call.run(
        call.kernels.apply_planes[call.which()],
        dim3(blocks_for(e.batch * e.channels, y)),
        dim3(x, y));
    return;
  }
  const int64_t packs = e.channels / call.pack;
  const unsigned x = power_below(packs, kChannelThreads);
  const unsigned y = kChannelThreads / x;
  const unsigned blocks = blocks_for(packs, x);
  const int64_t down = std::min<int64_t>(
      blocks_for(e.batch, int64_t{4} * y),
      int64_t{16} * call.processors / blocks + 1);
  call.run(
      call.kernels.apply_rows[call.which()],
      dim3(blocks, static_cast<unsigned>(std::min<int64_t>(down, 65535))),
      dim3(x, y));
}

// splits: as many as there is room for.
void run_sums(Call& call, int64_t room) {
  const ChannelExtents& e = call.job.extents;
  const int64_t wanted = int64_t{4} * call.processors;
  const auto splits = [&](int64_t blocks, int64_t most) {
    const int64_t n = std::min({wanted / blocks, most, room, int64_t{65535}});
    return static_cast<int32_t>(std::max<int64_t>(n, 1));
  };
  if (call.in_planes) {
    set_planes(call.job, call.pack);
    call.job.splits = splits(
        e.channels,
        e.batch * e.plane / call.pack / (int64_t{8} * kChannelThreads));
    call.run(
        call.kernels.sums_planes[call.which()],
        dim3(
            static_cast<unsigned>(e.channels),
            static_cast<unsigned>(call.job.splits)),
        dim3(kChannelThreads));
  } else {
    const int64_t packs = e.channels / call.pack;
    const unsigned x = power_below(packs, kWarp);
    const unsigned y = kChannelThreads / x;
    const unsigned blocks = blocks_for(packs, x);
    call.job.splits = splits(blocks, e.batch / (int64_t{8} * y));
    call.run(
        call.kernels.sums_rows[call.which()],
        dim3(blocks, static_cast<unsigned>(call.job.splits)),
        dim3(x, y));
  }
  if (call.job.splits > 1)
    call.run(
        call.kernels.settle,
        dim3(blocks_for(e.channels, kWarp)),
        dim3(kWarp, kSettleThreads));
}

// Sums, then what they are for.
void run_both(Call& call, Workspace workspace) {
  const ChannelExtents& e = call.job.extents;
  if (e.batch * e.channels * e.plane == 0)
    return;
  choose_pack(call);
  const int64_t scales =
      (e.channels * call.kernels.scale_bytes + 255) / 256 * 256;
  const int64_t rest = static_cast<int64_t>(workspace.bytes) - scales;
  if (workspace.address == nullptr || rest < 0 ||
      e.batch * e.channels * e.plane < kAlone)
    return run_alone(call);
  call.job.scales = workspace.address;
  call.job.partial = static_cast<char*>(workspace.address) + scales;
  run_sums(call, rest / (e.channels * call.kernels.state_bytes));
  if (call.job.out != nullptr)
    run_apply(call);
}

Call make_call(
    engine::Stream& stream,
    const BatchNormKernels& kernels,
    const View& in,
    bool per_activation) {
  Call call{stream, kernels, {}, false, 1, multiprocessors(stream.device())};
  call.job.extents =
      per_activation ? activation_extents(in) : channel_extents(in);
  call.job.in = in.address;
  call.job.splits = 1;
  return call;
}

Call make_call(engine::Stream& stream, const BatchNormArgs& args) {
  Call call = make_call(
      stream,
      batch_norm_forward_kernels(args.in.dtype),
      args.in,
      args.per_activation);
  BatchNormJob& job = call.job;
  job.epsilon = args.epsilon;
  job.momentum = args.momentum;
  job.out = args.out.address;
  job.running_mean = address(args.running_mean);
  job.running_var = address(args.running_var);
  job.save_mean = address(args.save_mean);
  job.save_invstd = address(args.save_invstd);
  job.gamma = address(args.gamma);
  job.beta = address(args.beta);
  return call;
}

} // namespace

void CudaDnn::batch_norm_inference(Stream& stream, const BatchNormArgs& args) {
  Call call = make_call(stream, args);
  choose_pack(call);
  run_apply(call);
}

void CudaDnn::batch_norm_training(Stream& stream, const BatchNormArgs& args) {
  Call call = make_call(stream, args);
  run_both(call, args.workspace);
}

void CudaDnn::batch_norm_backward(
    Stream& stream,
    const BatchNormBackwardArgs& args) {
  Call call = make_call(
      stream,
      batch_norm_backward_kernels(args.in.dtype),
      args.in,
      args.per_activation);
  BatchNormJob& job = call.job;
  job.epsilon = args.epsilon;
  job.out = address(args.grad_in);
  job.grad_out = args.grad_out.address;
  job.save_mean = args.mean.address;
  job.save_invstd = args.invstd.address;
  job.gamma = address(args.gamma);
  job.grad_gamma = address(args.grad_gamma);
  job.grad_beta = address(args.grad_beta);
  job.grad_mean = address(args.grad_mean);
  job.grad_var = address(args.grad_var);
  run_both(call, args.workspace);
}

} // namespace musa_standin::engine::cuda
