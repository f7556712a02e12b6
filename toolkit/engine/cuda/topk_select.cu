// SPDX-License-Identifier: Apache-2.0
// The first k of long lines: the k-th key is found digit by digit, then the
// positions of what is not behind it are written in order.
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/sort_keys.cuh"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kEach = 16; // elements of a thread in a tile
constexpr int kTile = kThreads * kEach;
constexpr int kDigitBits = 11;
constexpr int kBins = 1 << kDigitBits;
constexpr int kMostParts = 1024;
// So many blocks fill a device.
constexpr int kBlocksOfProcessor = 4;

// Of a line; all zero before the first digit.
struct State {
  uint32_t bins[kBins];
  uint64_t prefix; // the digits so far of the k-th key
  uint32_t needed; // how many with this prefix are among the first k
  uint32_t done;   // blocks that have counted this digit
};

struct Count {
  uint32_t before; // strictly before the k-th key
  uint32_t equal;
};

// A line's elements in so many parts of whole tiles, a block each.
struct Split {
  SortJob job;
  State* states;
  Count* counts; // of each part
  uint32_t* positions;
  Divider parts;
  int64_t part_elements;
};

struct Here {
  int64_t line;
  uint32_t part;
  int64_t begin;
  int64_t end;
  int64_t start; // of the line
};

__device__ Here here(const Split& split) {
  Here h;
  h.line = split.parts.quotient(blockIdx.x);
  h.part = blockIdx.x - static_cast<uint32_t>(h.line) * split.parts.divisor;
  h.begin = h.part * split.part_elements;
  h.end = min(h.begin + split.part_elements, split.job.extent);
  h.start = line_start(split.job, h.line, split.job.extent);
  return h;
}

// f(key) for the part's elements, in no order.
template <class K, class F>
__device__ void
for_keys(const Split& split, const Here& h, const Codec<K>& codec, F&& f) {
  for (int64_t tile = h.begin; tile < h.end; tile += kTile) {
    K keys[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int64_t at = tile + i * kThreads + threadIdx.x;
      if (at < h.end)
        keys[i] = load_bits<K>(
            split.job.in,
            split.job.codec.bytes,
            h.start + at * split.job.inner);
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if (tile + i * kThreads + threadIdx.x < h.end)
        f(codec.encode(keys[i]));
    }
  }
}

// The sums of the threads before this one and of all; `shared` is free again
// after the next barrier.
__device__ uint32_t scan(uint32_t n, uint32_t* shared, uint32_t& all) {
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  uint32_t upto = n;
  for (int step = 1; step < kWarp; step *= 2) {
    const uint32_t other = __shfl_up_sync(~0U, upto, step);
    upto += lane >= step ? other : 0;
  }
  if (lane == kWarp - 1)
    shared[warp] = upto;
  __syncthreads();
  uint32_t before = 0;
  all = 0;
  for (int i = 0; i < kWarps; ++i) {
    before += i < warp ? shared[i] : 0;
    all += shared[i];
  }
  return before + upto - n;
}

// The digit in which the k-th key lies; by all threads of one block, the last
// that counted.
__device__ void choose_digit(State& state, uint32_t needed, int shift) {
  __shared__ uint32_t sums[kWarps];
  constexpr int kOwn = kBins / kThreads;
  uint32_t bins[kOwn];
  uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int bin = static_cast<int>(threadIdx.x) * kOwn + i;
    bins[i] = __ldcg(&state.bins[bin]);
    state.bins[bin] = 0;
    sum += bins[i];
  }
  uint32_t all = 0;
  uint32_t before = scan(sum, sums, all);
  if (before < needed && needed <= before + sum) {
    int digit = 0;
    while (before + bins[digit] < needed)
      before += bins[digit++];
    state.needed = needed - before;
    state.prefix |= (static_cast<uint64_t>(threadIdx.x) * kOwn + digit)
        << shift;
  }
  if (threadIdx.x == 0)
    state.done = 0;
}

// Counts the digit of `width` bits at `shift` of the keys that have the prefix
// above it.
template <class K>
__global__ void __launch_bounds__(kThreads)
    digit_kernel(Split split, int shift, int width, bool first) {
  __shared__ uint32_t bins[kBins];
  __shared__ bool last;
  for (int i = threadIdx.x; i < kBins; i += kThreads)
    bins[i] = 0;
  __syncthreads();
  const Here h = here(split);
  State& state = split.states[h.line];
  const Codec<K> codec(split.job.codec);
  const K prefix = static_cast<K>(state.prefix);
  const K above = first ? K(0) : static_cast<K>(~K(0) << (shift + width));
  const K digit = (K(1) << width) - 1;
  for_keys(split, h, codec, [&](K key) {
    if (((key ^ prefix) & above) == 0)
      atomicAdd(&bins[(key >> shift) & digit], 1U);
  });
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += kThreads) {
    if (bins[i] != 0)
      atomicAdd(&state.bins[i], bins[i]);
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
    last = atomicAdd(&state.done, 1U) == split.parts.divisor - 1;
  __syncthreads();
  if (!last)
    return;
  __threadfence();
  const uint32_t needed =
      first ? static_cast<uint32_t>(split.job.kept) : state.needed;
  choose_digit(state, needed, shift);
}

template <class K>
__global__ void __launch_bounds__(kThreads) count_kernel(Split split) {
  __shared__ uint32_t sums[2][kWarps];
  const Here h = here(split);
  const Codec<K> codec(split.job.codec);
  const K kth = static_cast<K>(split.states[h.line].prefix);
  Count count{};
  for_keys(split, h, codec, [&](K key) {
    count.before += key < kth ? 1 : 0;
    count.equal += key == kth ? 1 : 0;
  });
  Count all{};
  scan(count.before, sums[0], all.before);
  scan(count.equal, sums[1], all.equal);
  if (threadIdx.x == 0)
    split.counts[blockIdx.x] = all;
}

// The counts of the line's parts before this one.
__device__ Count count_before(const Split& split, const Here& h) {
  __shared__ uint32_t sums[2][kWarps];
  Count own{};
  for (uint32_t i = threadIdx.x; i < h.part; i += kThreads) {
    const Count c = split.counts[blockIdx.x - h.part + i];
    own.before += c.before;
    own.equal += c.equal;
  }
  Count all{};
  scan(own.before, sums[0], all.before);
  scan(own.equal, sums[1], all.equal);
  return all;
}

// The tile's keys, a stretch of consecutive elements a warp.
template <class K>
struct Stretch {
  K keys[kEach];
  int64_t begin;

  __device__ Stretch(const Split& split, const Here& h, int64_t tile) {
    const Codec<K> codec(split.job.codec);
    begin = tile + threadIdx.x / kWarp * (kEach * kWarp) + threadIdx.x % kWarp;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int64_t at = begin + i * kWarp;
      keys[i] = 0;
      if (at < h.end)
        keys[i] = codec.encode(load_bits<K>(
            split.job.in,
            split.job.codec.bytes,
            h.start + at * split.job.inner));
    }
  }
  __device__ int64_t at(int i) const { return begin + i * kWarp; }
};

template <class K>
__global__ void __launch_bounds__(kThreads) position_kernel(Split split) {
  // Two sets, so that the next tile may be counted while this one is written.
  __shared__ Count totals[2][kWarps];
  const Here h = here(split);
  const Count own = split.counts[blockIdx.x];
  const State& state = split.states[h.line];
  if (own.before == 0 && own.equal == 0)
    return;
  Count base = count_before(split, h);
  if (own.before == 0 && base.equal >= state.needed)
    return;
  const K kth = static_cast<K>(state.prefix);
  const uint32_t needed = state.needed;
  uint32_t* const out = split.positions + h.line * split.job.kept;
  const auto equals = static_cast<uint32_t>(split.job.kept) - needed;
  const int warp = threadIdx.x / kWarp;
  const uint32_t below = (1U << (threadIdx.x % kWarp)) - 1;
  for (int64_t tile = h.begin; tile < h.end; tile += kTile) {
    const Stretch<K> stretch(split, h, tile);
    Count mine{};
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const bool inside = stretch.at(i) < h.end;
      mine.before +=
          __popc(__ballot_sync(~0U, inside && stretch.keys[i] < kth));
      mine.equal +=
          __popc(__ballot_sync(~0U, inside && stretch.keys[i] == kth));
    }
    Count* const total = totals[tile / kTile & 1];
    if (threadIdx.x % kWarp == 0)
      total[warp] = mine;
    __syncthreads();
    Count at = base;
    for (int i = 0; i < kWarps; ++i) {
      at.before += i < warp ? total[i].before : 0;
      at.equal += i < warp ? total[i].equal : 0;
      base.before += total[i].before;
      base.equal += total[i].equal;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const bool inside = stretch.at(i) < h.end;
      const bool before = inside && stretch.keys[i] < kth;
      const bool equal = inside && stretch.keys[i] == kth;
      const uint32_t befores = __ballot_sync(~0U, before);
      const uint32_t same = __ballot_sync(~0U, equal);
      const uint32_t rank = at.equal + __popc(same & below);
      if (before)
        out[at.before + __popc(befores & below)] =
            static_cast<uint32_t>(stretch.at(i));
      else if (equal && rank < needed)
        out[equals + rank] = static_cast<uint32_t>(stretch.at(i));
      at.before += __popc(befores);
      at.equal += __popc(same);
    }
  }
}

template <class K>
void run(engine::Stream& stream, const Split& split, unsigned blocks) {
  const int bits = 8 * split.job.codec.bytes;
  const dim3 grid(blocks);
  const dim3 block(kThreads);
  for (int left = bits; left > 0;) {
    const int width = std::min(left, kDigitBits);
    left -= width;
    launch(
        stream,
        digit_kernel<K>,
        grid,
        block,
        0,
        split,
        left,
        width,
        left + width == bits);
  }
  launch(stream, count_kernel<K>, grid, block, 0, split);
  launch(stream, position_kernel<K>, grid, block, 0, split);
}

} // namespace

size_t select_first_bytes(int64_t lines) {
  return static_cast<size_t>(lines) *
      (sizeof(State) + sizeof(Count) * kMostParts);
}

void select_first(
    engine::Stream& stream,
    const SortJob& job,
    uint32_t* positions,
    Workspace workspace) {
  const int64_t tiles = (job.extent + kTile - 1) / kTile;
  const int64_t fill =
      int64_t{multiprocessors(stream.device())} * kBlocksOfProcessor;
  const int64_t most = std::min<int64_t>(tiles, kMostParts);
  const int64_t wanted =
      std::clamp<int64_t>((fill + job.lines - 1) / job.lines, 1, most);
  const int64_t tiles_of_part = (tiles + wanted - 1) / wanted;
  const int64_t parts = (tiles + tiles_of_part - 1) / tiles_of_part;
  Split split{
      job,
      static_cast<State*>(workspace.address),
      nullptr,
      positions,
      make_divider(parts),
      tiles_of_part * kTile};
  split.counts = reinterpret_cast<Count*>(split.states + job.lines);
  check(cudaMemsetAsync(
      split.states,
      0,
      sizeof(State) * static_cast<size_t>(job.lines),
      native(stream)));
  const auto blocks = static_cast<unsigned>(job.lines * parts);
  job.codec.bytes == 8 ? run<uint64_t>(stream, split, blocks)
                       : run<uint32_t>(stream, split, blocks);
}

} // namespace musa_standin::engine::cuda
