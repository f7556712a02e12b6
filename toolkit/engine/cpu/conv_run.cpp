// SPDX-License-Identifier: Apache-2.0
// Convolutions: oneDNN's one-thread primitives on chunks of the batch, or on
// slices of the result's channels where the batch is too small.
#include "toolkit/engine/cpu/conv_job.h"

#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"

#include <algorithm>
#include <atomic>
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

  [[nodiscard]] int64_t chunks() const { return count + (tail != 0 ? 1 : 0); }
};

// Expected nanoseconds of one thread for an image.
double image_ns(const ConvShape& s) {
  return s.flops_per_image() / kFlopsPerNs +
      kMoveNs * static_cast<double>(s.in_image() + s.out_image());
}

Work divide(const ConvShape& s) {
  const int64_t threads = pool_threads();
  const auto least =
      std::max<int64_t>(static_cast<int64_t>(kChunkNs / image_ns(s)), 1);
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

// Slices of the result's channels, `channels` each but the last, for batches
// of fewer images than there are threads; none (count 1) for all others.
struct Slices {
  int64_t count;
  int64_t channels;
};

int64_t result_channels(const ConvShape& s) {
  return s.pass == ConvPass::kBackwardData ? s.ic : s.oc;
}

Slices slice(const ConvShape& s) {
  constexpr int64_t kBlock = 16; // channels that oneDNN computes side by side
  const int64_t threads = pool_threads();
  const int64_t channels = result_channels(s);
  if (s.groups > 1 || s.n >= threads)
    return {1, channels};
  const double total_ns = static_cast<double>(s.n) * image_ns(s);
  const int64_t wanted = std::min(
      {threads,
       static_cast<int64_t>(total_ns / kChunkNs),
       channels / (2 * kBlock)});
  if (wanted < 2)
    return {1, channels};
  const int64_t each = (channels + wanted - 1) / wanted;
  const int64_t even = (each + kBlock - 1) / kBlock * kBlock;
  return {(channels + even - 1) / even, even};
}

// The pass for the slice's channels alone.
ConvShape slice_shape(const ConvShape& s, const Slices& slices, int64_t i) {
  ConvShape part = s;
  const int64_t channels =
      std::min(slices.channels, result_channels(s) - i * slices.channels);
  (s.pass == ConvPass::kBackwardData ? part.ic : part.oc) = channels;
  return part;
}

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

size_t filter_bytes(const ConvShape& s) {
  return aligned(std::max(filter_floats_bound(s), s.filter_size()));
}

// Filters in the workspace, or, where oneDNN wants more than was foreseen, on
// the heap.
class FilterStore {
 public:
  FilterStore(const ConvShape& s, char* workspace, int64_t count)
      : at_(workspace), each_(filter_bytes(s)), count_(count) {}

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
  run.work.lanes =
      std::clamp(std::min(run.work.lanes, run.work.count), int64_t{1}, kMost);
  const int64_t lanes = run.work.lanes;
  const bool moves = plan.filter_floats() != 0;
  const int64_t floats = moves ? plan.filter_floats() : s.filter_size();
  float* sums[kMost] = {};
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

// --- slices of channels -----------------------------------------------------

// The operands from the slice's first channel on.
ConvPointers
slice_pointers(const ConvShape& s, const ConvPointers& all, int64_t first) {
  ConvPointers p = all;
  const bool images_first = s.images == ImageOrder::kChannelsFirst;
  const int64_t ic = s.in_channels;
  if (s.pass == ConvPass::kBackwardData) {
    p.in += images_first ? first * s.in_plane() : first;
    p.filter += s.filter == FilterOrder::kChannelsFirst ? first * s.taps()
        : s.filter == FilterOrder::kChannelsLast        ? first
                                                 : first * s.out_channels;
    return p;
  }
  p.out += images_first ? first * s.out_plane() : first;
  p.filter +=
      s.filter == FilterOrder::kSpatialFirst ? first : first * ic * s.taps();
  return p;
}

void run_slice(
    const ConvShape& part,
    const ConvPointers& p,
    ConvPlan& plan,
    float* filter) {
  ConvPointers inside = p;
  if (filter == nullptr) // oneDNN takes the caller's order
    return plan.run(inside);
  inside.filter = filter;
  if (part.pass != ConvPass::kBackwardFilter)
    plan.load_filter(p.filter, filter);
  plan.run(inside);
  if (part.pass == ConvPass::kBackwardFilter)
    plan.store_filter(filter, p.filter);
}

void run_slices(const Run& run, const Slices& slices, FilterStore& store) {
  constexpr int64_t kMost = 1024;
  const ConvShape& s = run.job.shape;
  std::shared_ptr<ConvPlan> plans[kMost];
  float* filters[kMost] = {};
  const int64_t count = std::min(slices.count, kMost);
  for (int64_t i = 0; i < count; ++i) {
    plans[i] = conv_plan(slice_shape(s, slices, i));
    if (plans[i]->filter_floats() != 0)
      filters[i] = store.take(plans[i]->filter_floats());
  }
  for_lanes(count, [&](int64_t i) {
    run_slice(
        slice_shape(s, slices, i),
        slice_pointers(s, run.floats, i * slices.channels),
        *plans[i],
        filters[i]);
  });
  if (s.pass == ConvPass::kBackwardFilter)
    return;
  for (int64_t image = 0; image < s.n; ++image)
    finish_chunk(run, image);
}

// Where the caller's operands are on the host.
ConvJob on_host(const ConvJob& device) {
  ConvJob job = device;
  job.in = host<char>(device.in);
  job.filter = host<char>(device.filter);
  job.out = host<char>(device.out);
  if (device.workspace != nullptr)
    job.workspace = host<char>(device.workspace);
  if (device.finish.bias != nullptr)
    job.finish.bias = host<const char>(device.finish.bias);
  if (device.finish.add != nullptr)
    job.finish.add = host<const char>(device.finish.add);
  return job;
}

void run_batch(Run& run, char* workspace) {
  const ConvShape& s = run.job.shape;
  run.work = divide(s);
  run.plan = plan_for(s, run.work.images);
  if (run.work.tail != 0)
    run.tail_plan = plan_for(s, run.work.tail);
  FilterStore store(s, workspace, filters_kept(s, run.work));
  if (s.pass == ConvPass::kBackwardFilter)
    run_filter(run, store);
  else
    run_images(run, store);
}

} // namespace

size_t conv_workspace_bytes(const ConvShape& s, Dtype dtype, bool tf32) {
  size_t bytes = 0;
  for (int i = 0; i < kOperands; ++i)
    bytes += converts(s, dtype, tf32, i) ? aligned(numel(s, i)) : 0;
  const Slices slices = slice(s);
  if (slices.count > 1)
    return bytes +
        static_cast<size_t>(slices.count) *
        filter_bytes(slice_shape(s, slices, 0));
  return bytes +
      static_cast<size_t>(filters_kept(s, divide(s))) * filter_bytes(s);
}

void run_convolution(const ConvJob& job) {
  Run run;
  run.job = on_host(job);
  const ConvShape& s = run.job.shape;
  char* rest = bring_floats(run);
  const Slices slices = slice(s);
  if (slices.count > 1) {
    run.work = {1, s.n, 0, 1}; // an image is a chunk to finish
    FilterStore store(slice_shape(s, slices, 0), rest, slices.count);
    run_slices(run, slices, store);
  } else {
    run_batch(run, rest);
  }
  if (s.pass == ConvPass::kBackwardFilter && run.job.dtype != Dtype::kFloat)
    finish_images(
        ConvFinish{},
        run.job.dtype,
        run.floats.filter,
        run.job.filter,
        0,
        s.filter_size());
}

} // namespace musa_standin::engine::cpu
