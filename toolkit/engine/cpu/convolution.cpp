// SPDX-License-Identifier: Apache-2.0
// Convolution on the CPU engine: oneDNN's one-thread primitives on chunks of
// the batch.
#include "toolkit/engine/cpu/conv_finish.h"
#include "toolkit/engine/cpu/conv_plan.h"
#include "toolkit/engine/cpu/gemm_kernels.h"

#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

#include "toolkit/engine/error.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

namespace musa_standin::engine::cpu {
namespace {

constexpr double kFlopsPerNs = 150; // of one thread
constexpr double kMoveNs = 0.4;     // per image element: into blocks and back
constexpr double kChunkNs = 30000;  // work that is worth a thread's start
constexpr int64_t kChunksPerThread = 4;
constexpr int64_t kChunkBytes = 2 << 20; // of images, to stay in the cache
constexpr int64_t kConvertGrain = 16384; // elements
constexpr size_t kAlign = 64;

// `count` chunks of `images` each and one of `tail` images, if any.
struct Work {
  int64_t images;
  int64_t count;
  int64_t tail;
  int64_t lanes; // threads at most; each sums up a filter's gradient apart

  int64_t chunks() const { return count + (tail != 0 ? 1 : 0); }
};

Work divide(const ConvShape& s) {
  const int64_t threads = pool_threads();
  const double image_ns = s.flops_per_image() / kFlopsPerNs +
      kMoveNs * static_cast<double>(s.in_image() + s.out_image());
  const auto least =
      std::max<int64_t>(static_cast<int64_t>(kChunkNs / image_ns), 1);
  const int64_t bytes =
      (s.in_image() + s.out_image()) * static_cast<int64_t>(sizeof(float));
  int64_t images = std::max(least, kChunkBytes / std::max<int64_t>(bytes, 1));
  // Adding up two filters costs as much as some positions of the images.
  if (s.pass == ConvPass::kBackwardFilter)
    images = std::max(images, 1024 / s.out_plane());
  if (threads > 1) {
    const int64_t parts = s.pass == ConvPass::kBackwardFilter
        ? threads
        : kChunksPerThread * threads;
    images = std::min(images, std::max(least, (s.n + parts - 1) / parts));
  }
  images = std::clamp<int64_t>(images, 1, s.n);
  // The same number of chunks, as even as can be; exactly so where a divisor
  // of n is near.
  const int64_t count = (s.n + images - 1) / images;
  images = (s.n + count - 1) / count;
  for (int64_t i = images; i >= 1 && i * 4 >= images * 3; --i) {
    if (s.n % i == 0) {
      images = i;
      break;
    }
  }
  return {
      images,
      s.n / images,
      s.n % images,
      std::min(threads, (s.n + images - 1) / images)};
}

struct ConvJob {
  ConvShape shape;
  Dtype dtype;
  bool tf32;
  ConvFinish finish;
  char* in;
  char* filter;
  char* out;
  char* workspace;
  const GemmKernels* kernels;
};

size_t aligned(int64_t floats) {
  const size_t bytes = static_cast<size_t>(floats) * sizeof(float);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// The operands of a pass, in the order in, filter, out.
constexpr int kOperands = 3;
int result_of(ConvPass pass) {
  return pass == ConvPass::kForward     ? 2
      : pass == ConvPass::kBackwardData ? 0
                                        : 1;
}

int64_t numel(const ConvShape& s, int operand) {
  return operand == 1 ? s.filter_size()
                      : s.n * (operand == 0 ? s.in_image() : s.out_image());
}

// Does the operand go through the workspace as floats?
bool converts(const ConvShape& s, Dtype dtype, bool tf32, int operand) {
  return dtype != Dtype::kFloat || (tf32 && operand != result_of(s.pass));
}

// Filters in oneDNN's order that a pass keeps: shared ones, or of each lane a
// sum and an addend; one more for the tail's plan and one in the caller's
// order.
int64_t filters_kept(const ConvShape& s, const Work& w) {
  const int64_t tail = w.tail != 0 ? 2 : 0;
  return (s.pass == ConvPass::kBackwardFilter ? 2 * w.lanes : 1) + tail;
}

size_t bytes_needed(const ConvShape& s, Dtype dtype, bool tf32) {
  size_t bytes = 0;
  for (int i = 0; i < kOperands; ++i)
    bytes += converts(s, dtype, tf32, i) ? aligned(numel(s, i)) : 0;
  const int64_t each = std::max(filter_floats_bound(s), s.filter_size());
  return bytes +
      static_cast<size_t>(filters_kept(s, divide(s))) * aligned(each);
}

// Filters in the workspace, or, where oneDNN wants more than was foreseen, on
// the heap.
class FilterStore {
 public:
  FilterStore(const ConvShape& s, char* workspace, int64_t count)
      : at_(workspace),
        each_(aligned(std::max(filter_floats_bound(s), s.filter_size()))),
        count_(count) {}

  float* take(int64_t floats) {
    const size_t bytes = aligned(floats);
    if (bytes > each_ || count_ == 0) {
      heap_ = std::make_unique<Extra>(std::move(heap_), floats);
      return heap_->floats.get();
    }
    --count_;
    char* taken = at_;
    at_ += each_;
    return reinterpret_cast<float*>(taken);
  }

 private:
  struct Extra {
    Extra(std::unique_ptr<Extra> before, int64_t n)
        : next(std::move(before)), floats(new float[static_cast<size_t>(n)]) {}
    std::unique_ptr<Extra> next;
    std::unique_ptr<float[]> floats;
  };
  char* at_;
  size_t each_;
  int64_t count_;
  std::unique_ptr<Extra> heap_;
};

// A job on the host: operands as floats, plans at hand.
struct Run {
  ConvJob job;
  Work work{};
  ConvPointers floats{};
  std::shared_ptr<ConvPlan> plan;
  std::shared_ptr<ConvPlan> tail_plan;

  [[nodiscard]] ConvPlan& plan_of(int64_t chunk) const {
    return chunk < work.count ? *plan : *tail_plan;
  }
  [[nodiscard]] int64_t images_of(int64_t chunk) const {
    return chunk < work.count ? work.images : work.tail;
  }
  // The chunk's images, with the filter given.
  [[nodiscard]] ConvPointers pointers(int64_t chunk, float* filter) const {
    const int64_t first = chunk * work.images;
    return {
        floats.in + first * job.shape.in_image(),
        filter,
        floats.out + first * job.shape.out_image()};
  }
};

std::shared_ptr<ConvPlan> plan_for(const ConvShape& s, int64_t images) {
  ConvShape chunk = s;
  chunk.n = images;
  return conv_plan(chunk);
}

void convert(const Run& run, int operand, const char* from, float* to) {
  const GemmKernels& kernels = *run.job.kernels;
  parallel_for(
      numel(run.job.shape, operand),
      kConvertGrain,
      [&](int64_t begin, int64_t end) {
        if (run.job.dtype == Dtype::kFloat)
          kernels
              .round_tf32(to, reinterpret_cast<const float*>(from), begin, end);
        else
          kernels.to_float(run.job.dtype, to, from, begin, end);
      });
}

// Operands as floats; returns the workspace behind them.
char* bring_floats(Run& run) {
  const ConvJob& job = run.job;
  char* at = job.workspace;
  float** const floats[] = {
      &run.floats.in,
      &run.floats.filter,
      &run.floats.out};
  const char* const given[] = {job.in, job.filter, job.out};
  for (int i = 0; i < kOperands; ++i) {
    if (!converts(job.shape, job.dtype, job.tf32, i)) {
      *floats[i] = reinterpret_cast<float*>(const_cast<char*>(given[i]));
      continue;
    }
    *floats[i] = reinterpret_cast<float*>(at);
    at += aligned(numel(job.shape, i));
    if (i != result_of(job.shape.pass))
      convert(run, i, given[i], *floats[i]);
  }
  return at;
}

// Rounds and completes the chunk's images, where there is anything to do.
void finish_chunk(const Run& run, int64_t chunk) {
  const ConvJob& job = run.job;
  const bool forward = job.shape.pass == ConvPass::kForward;
  if (job.dtype == Dtype::kFloat && (!forward || job.finish.nothing()))
    return;
  const int64_t image = forward ? job.shape.out_image() : job.shape.in_image();
  const int64_t first = chunk * run.work.images;
  finish_images(
      job.finish,
      job.dtype,
      forward ? run.floats.out : run.floats.in,
      forward ? job.out : job.in,
      first * image,
      (first + run.images_of(chunk)) * image);
}

// f(lane): as many at a time as there are threads.
template <class F>
void for_lanes(int64_t lanes, F&& f) {
  parallel_for(lanes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane)
      f(lane);
  });
}

float* load_filter(const Run& run, ConvPlan& plan, FilterStore& store) {
  if (plan.filter_floats() == 0)
    return run.floats.filter;
  float* inside = store.take(plan.filter_floats());
  plan.load_filter(run.floats.filter, inside);
  return inside;
}

// Forward and gradient of the images: every chunk has its own result.
void run_images(const Run& run, FilterStore& store) {
  float* filter = load_filter(run, *run.plan, store);
  float* tail_filter = run.tail_plan != nullptr
      ? load_filter(run, *run.tail_plan, store)
      : nullptr;
  std::atomic<int64_t> next{0};
  for_lanes(run.work.lanes, [&](int64_t /*lane*/) {
    for (int64_t chunk = next++; chunk < run.work.chunks(); chunk = next++) {
      const bool tail = chunk >= run.work.count;
      run.plan_of(chunk).run(run.pointers(chunk, tail ? tail_filter : filter));
      finish_chunk(run, chunk);
    }
  });
}

void add(float* to, const float* from, int64_t n) {
  parallel_for(n, kConvertGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      to[i] += from[i];
  });
}

// Chunks of a lane, always the same ones, so that the sums round alike in each
// run.
void sum_lane(const Run& run, int64_t lane, float* sum, float* addend) {
  const Work& w = run.work;
  const int64_t first = lane * w.count / w.lanes;
  const int64_t last = (lane + 1) * w.count / w.lanes;
  const int64_t floats = run.plan->filter_floats() != 0
      ? run.plan->filter_floats()
      : run.job.shape.filter_size();
  for (int64_t chunk = first; chunk < last; ++chunk) {
    run.plan->run(run.pointers(chunk, chunk == first ? sum : addend));
    for (int64_t i = 0; chunk != first && i < floats; ++i)
      sum[i] += addend[i];
  }
}

void run_filter(Run& run, FilterStore& store) {
  constexpr int64_t kMost = 1024; // lanes
  const ConvShape& s = run.job.shape;
  ConvPlan& plan = *run.plan;
  run.work.lanes = std::min({run.work.lanes, run.work.count, kMost});
  const int64_t lanes = run.work.lanes;
  const bool moves = plan.filter_floats() != 0;
  const int64_t floats = moves ? plan.filter_floats() : s.filter_size();
  float* sums[kMost];
  float* addends[kMost] = {};
  for (int64_t lane = 0; lane < lanes; ++lane) {
    sums[lane] = lane == 0 && !moves ? run.floats.filter : store.take(floats);
    if (run.work.count > lanes)
      addends[lane] = store.take(floats);
  }
  for_lanes(lanes, [&](int64_t lane) {
    sum_lane(run, lane, sums[lane], addends[lane]);
  });
  for (int64_t lane = 1; lane < lanes; ++lane)
    add(sums[0], sums[lane], floats);
  if (moves)
    plan.store_filter(sums[0], run.floats.filter);
  if (run.tail_plan == nullptr)
    return;
  ConvPlan& tail = *run.tail_plan;
  const bool tail_moves = tail.filter_floats() != 0;
  float* outside = store.take(s.filter_size());
  float* inside = tail_moves ? store.take(tail.filter_floats()) : outside;
  tail.run(run.pointers(run.work.count, inside));
  if (tail_moves)
    tail.store_filter(inside, outside);
  add(run.floats.filter, outside, s.filter_size());
}

void run_job(const ConvJob& device) {
  Run run;
  run.job = device;
  ConvJob& job = run.job;
  job.in = host<char>(device.in);
  job.filter = host<char>(device.filter);
  job.out = host<char>(device.out);
  if (device.workspace != nullptr)
    job.workspace = host<char>(device.workspace);
  if (device.finish.bias != nullptr)
    job.finish.bias = host<const char>(device.finish.bias);
  if (device.finish.add != nullptr)
    job.finish.add = host<const char>(device.finish.add);
  run.work = divide(job.shape);
  run.plan = plan_for(job.shape, run.work.images);
  if (run.work.tail != 0)
    run.tail_plan = plan_for(job.shape, run.work.tail);
  char* rest = bring_floats(run);
  FilterStore store(job.shape, rest, filters_kept(job.shape, run.work));
  if (job.shape.pass != ConvPass::kBackwardFilter)
    return run_images(run, store);
  run_filter(run, store);
  if (job.dtype != Dtype::kFloat)
    finish_images(
        ConvFinish{},
        job.dtype,
        run.floats.filter,
        job.filter,
        0,
        job.shape.filter_size());
}

bool channels_last(Layout layout) {
  return layout == Layout::kNhwc || layout == Layout::kNdhwc;
}

FilterOrder filter_order(Layout layout) {
  if (layout == Layout::kHwcn || layout == Layout::kDhwcn)
    return FilterOrder::kSpatialFirst;
  return channels_last(layout) ? FilterOrder::kChannelsLast
                               : FilterOrder::kChannelsFirst;
}

// Sizes by meaning, from dims in the order of the format's name.
ConvShape make_shape(ConvPass pass, const ConvolutionArgs& args) {
  if ((args.spatial != 2 && args.spatial != 3) ||
      args.in.rank != args.spatial + 2)
    throw Error(
        musaErrorNotSupported,
        "convolution has two or three spatial dimensions");
  ConvShape s;
  std::memset(static_cast<void*>(&s), 0, sizeof s);
  s.pass = pass;
  s.groups = args.groups;
  s.spatial = args.spatial;
  const bool last = channels_last(args.in.layout);
  s.images = last ? ImageOrder::kChannelsLast : ImageOrder::kChannelsFirst;
  s.filter = filter_order(args.filter.layout);
  s.n = args.in.dims[0];
  s.ic = args.in.dims[last ? args.in.rank - 1 : 1];
  s.oc = args.out.dims[last ? args.in.rank - 1 : 1];
  const int image_first = last ? 1 : 2;
  const int filter_first = s.filter == FilterOrder::kChannelsFirst ? 2
      : s.filter == FilterOrder::kChannelsLast                     ? 1
                                                                   : 0;
  for (int i = 0; i < kMaxSpatial; ++i) {
    const int from = i - (kMaxSpatial - args.spatial);
    const bool there = from >= 0;
    s.in[i] = there ? args.in.dims[image_first + from] : 1;
    s.out[i] = there ? args.out.dims[image_first + from] : 1;
    s.kernel[i] = there ? args.filter.dims[filter_first + from] : 1;
    s.pad[i] = there ? args.pad[from] : 0;
    s.stride[i] = there ? args.stride[from] : 1;
    s.dilation[i] = there ? args.dilation[from] : 1;
  }
  return s;
}

ConvPass pass_of(Family family) {
  return family == Family::kConvolution            ? ConvPass::kForward
      : family == Family::kConvolutionBackwardData ? ConvPass::kBackwardData
                                                   : ConvPass::kBackwardFilter;
}

void submit_pass(
    engine::Stream& stream,
    const char* name,
    ConvPass pass,
    const ConvolutionArgs& args) {
  ConvJob job{};
  job.shape = make_shape(pass, args);
  job.dtype = args.in.dtype;
  job.tf32 = args.tf32 && job.dtype == Dtype::kFloat;
  if (pass == ConvPass::kForward)
    job.finish = make_finish(args, job.shape);
  job.in = static_cast<char*>(args.in.address);
  job.filter = static_cast<char*>(args.filter.address);
  job.out = static_cast<char*>(args.out.address);
  job.workspace = static_cast<char*>(args.workspace.address);
  job.kernels = &MUSA_ISA_PICK(kGemmKernels);
  submit(stream, name, [job] { run_job(job); });
}

} // namespace

size_t CpuDnn::convolution_workspace_bytes(
    Family family,
    const ConvolutionArgs& args) {
  const Dtype dtype = args.in.dtype;
  return bytes_needed(
      make_shape(pass_of(family), args),
      dtype,
      args.tf32 && dtype == Dtype::kFloat);
}

void CpuDnn::convolution(Stream& stream, const ConvolutionArgs& args) {
  submit_pass(stream, "Convolution", ConvPass::kForward, args);
}

void CpuDnn::convolution_backward_data(
    Stream& stream,
    const ConvolutionArgs& args) {
  submit_pass(stream, "ConvolutionBackwardData", ConvPass::kBackwardData, args);
}

void CpuDnn::convolution_backward_filter(
    Stream& stream,
    const ConvolutionArgs& args) {
  submit_pass(
      stream,
      "ConvolutionBackwardFilter",
      ConvPass::kBackwardFilter,
      args);
}

} // namespace musa_standin::engine::cpu
