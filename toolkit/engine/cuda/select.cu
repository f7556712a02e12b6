// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's operators whose result has a size of its own: one pass
// marks elements as bits and counts them by block, one places them.
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/index_at.h"
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/offsets.h"
#include "toolkit/engine/cuda/select.h"

#include "toolkit/engine/runtime.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
// A warp marks a stretch of so many words.
constexpr int kWords = 16;
constexpr int kStretch = kWords * kWarp;
constexpr int kTile = kWarps * kStretch;
constexpr int kTileWords = kTile / kWarp;
// Blocks have so many tiles each, one behind the other; every block of the
// second pass adds up the counts of those before it.
constexpr int kMostBlocks = 1024;

// In the workspace.
struct Marks {
  int64_t* count;
  uint32_t* counts; // of each block
  uint32_t* words;
  int64_t numel;
  int64_t tiles;
  int64_t tiles_of_block;

  [[nodiscard]] int64_t blocks() const {
    return (tiles + tiles_of_block - 1) / tiles_of_block;
  }
};

constexpr size_t kCounts = 16; // where counts begin
constexpr size_t kWordsBegin = kCounts + sizeof(uint32_t) * kMostBlocks;

int64_t tiles_of(int64_t numel) {
  return (numel + kTile - 1) / kTile;
}

Marks make_marks(Workspace workspace, int64_t numel) {
  auto* const base = static_cast<char*>(workspace.address);
  Marks m{};
  m.count = reinterpret_cast<int64_t*>(base);
  m.counts = reinterpret_cast<uint32_t*>(base + kCounts);
  m.words = reinterpret_cast<uint32_t*>(base + kWordsBegin);
  m.numel = numel;
  m.tiles = tiles_of(numel);
  m.tiles_of_block = (m.tiles + kMostBlocks - 1) / kMostBlocks;
  return m;
}

// The sum over the block, for all its threads.
template <class N>
__device__ N block_sum(N n, N* shared) {
  for (int half = kWarp / 2; half > 0; half /= 2)
    n += __shfl_xor_sync(~0U, n, half);
  if (threadIdx.x % kWarp == 0)
    shared[threadIdx.x / kWarp] = n;
  __syncthreads();
  N sum = 0;
  for (int i = 0; i < kWarps; ++i)
    sum += shared[i];
  return sum;
}

// The lane's word of the stretch; lanes from kWords on have none.
template <class E>
__device__ uint32_t
mark_stretch(const E* in, int64_t begin, int64_t numel, E significant) {
  const int lane = threadIdx.x % kWarp;
  E values[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const int64_t at = begin + i * kWarp + lane;
    values[i] = at < numel ? in[at] : E(0);
  }
  uint32_t mine = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const uint32_t word = __ballot_sync(~0U, (values[i] & significant) != E(0));
    mine = lane == i ? word : mine;
  }
  return mine;
}

// A lane's 16 bytes as half a word; two lanes make the word of the first.
__device__ uint32_t mark_bytes(const uint8_t* in, int64_t begin) {
  const int lane = threadIdx.x % kWarp;
  const uint4 values = *reinterpret_cast<const uint4*>(in + begin + lane * 16);
  const uint32_t parts[4] = {values.x, values.y, values.z, values.w};
  uint32_t half = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    // One bit a byte, moved together by a multiplication.
    const uint32_t ones = __vsetne4(parts[i], 0);
    half |= ((ones * 0x10204080U) >> 28) << (4 * i);
  }
  const uint32_t low = __shfl_sync(~0U, half, (lane * 2) % kWarp);
  const uint32_t high = __shfl_sync(~0U, half, (lane * 2 + 1) % kWarp);
  return lane < kWords ? low | (high << 16) : 0;
}

template <class E>
__global__ void __launch_bounds__(kThreads)
    mark_kernel(Marks marks, const E* __restrict__ in, E significant) {
  __shared__ uint32_t sums[kWarps];
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  const int64_t first = blockIdx.x * marks.tiles_of_block;
  const int64_t last = min(first + marks.tiles_of_block, marks.tiles);
  const bool packed = sizeof(E) == 1 && significant == E(0xFF) &&
      reinterpret_cast<uintptr_t>(in) % 16 == 0;
  uint32_t count = 0;
#pragma unroll 2
  for (int64_t tile = first; tile < last; ++tile) {
    const int64_t begin = tile * kTile + warp * kStretch;
    uint32_t word;
    if (packed && begin + kStretch <= marks.numel)
      word = mark_bytes(reinterpret_cast<const uint8_t*>(in), begin);
    else
      word = mark_stretch(in, begin, marks.numel, significant);
    count += __popc(word);
    if (lane < kWords)
      marks.words[tile * kTileWords + warp * kWords + lane] = word;
  }
  count = block_sum(count, sums);
  if (threadIdx.x == 0)
    marks.counts[blockIdx.x] = count;
}

// place(position, rank) for every marked element.
template <class Place>
__global__ void __launch_bounds__(kThreads)
    place_kernel(Marks marks, Place place) {
  __shared__ int64_t sums[kWarps];
  __shared__ uint32_t stretches[2][kWarps];
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  int64_t before = 0;
  for (unsigned b = threadIdx.x; b < blockIdx.x; b += kThreads)
    before += marks.counts[b];
  int64_t rank = block_sum(before, sums);
  const int64_t first = blockIdx.x * marks.tiles_of_block;
  const int64_t last = min(first + marks.tiles_of_block, marks.tiles);
  for (int64_t tile = first; tile < last; ++tile) {
    const uint32_t mine = lane < kWords
        ? marks.words[tile * kTileWords + warp * kWords + lane]
        : 0;
    // Marks in the stretch up to and with the lane's word.
    uint32_t upto = __popc(mine);
    for (int step = 1; step < kWords; step *= 2) {
      const uint32_t other = __shfl_up_sync(~0U, upto, step);
      upto += lane >= step ? other : 0;
    }
    // Lanes without a word carry on the sum of some of those before them.
    const uint32_t all = __shfl_sync(~0U, upto, kWords - 1);
    // Two sets, so that the next tile may be written while this one is read.
    uint32_t* const totals = stretches[tile & 1];
    if (lane == 0)
      totals[warp] = all;
    __syncthreads();
    uint32_t skipped = 0;
    uint32_t sum = 0;
    for (int i = 0; i < kWarps; ++i) {
      skipped += i < warp ? totals[i] : 0;
      sum += totals[i];
    }
    if (all != 0) {
      const int64_t begin = tile * kTile + warp * kStretch;
#pragma unroll 4
      for (int i = 0; i < kWords; ++i) {
        const uint32_t word = __shfl_sync(~0U, mine, i);
        const uint32_t behind = __shfl_sync(~0U, upto, i) - __popc(word);
        if ((word >> lane & 1U) != 0) {
          const uint32_t within = __popc(word & ((1U << lane) - 1));
          place(begin + i * kWarp + lane, rank + skipped + behind + within);
        }
      }
    }
    rank += sum;
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0)
    *marks.count = rank;
}

// A row of coordinates for each.
struct PlaceCoordinates {
  int64_t* out;
  int32_t rank;
  bool narrow; // positions fit the dividers
  Divider dividers[kMaxRank];
  int64_t dims[kMaxRank];

  __device__ void operator()(int64_t position, int64_t row) const {
    int64_t* to = out + row * rank;
    if (narrow) {
      auto rest = static_cast<uint32_t>(position);
      for (int d = rank - 1; d > 0; --d) {
        const uint32_t q = dividers[d].quotient(rest);
        to[d] = rest - q * dividers[d].divisor;
        rest = q;
      }
      to[0] = rest;
      return;
    }
    for (int d = rank - 1; d > 0; --d) {
      to[d] = position % dims[d];
      position /= dims[d];
    }
    to[0] = position;
  }
};

template <class E>
struct PlaceElement {
  const E* in;
  E* out;
  __device__ void operator()(int64_t position, int64_t rank) const {
    out[rank] = in[position];
  }
};

// Which bits tell an element from zero: the sign of floating ones does not.
uint64_t significant_bits(Dtype type) {
  const int64_t bits = element_bytes(type) * 8 - (is_floating(type) ? 1 : 0);
  return ~uint64_t{0} >> (64 - bits);
}

void mark(engine::Stream& stream, const Marks& marks, const View& in) {
  with_bits(element_bytes(in.dtype), [&](auto tag) {
    using E = decltype(tag);
    launch(
        stream,
        mark_kernel<E>,
        dim3(static_cast<unsigned>(marks.blocks())),
        dim3(kThreads),
        0,
        marks,
        static_cast<const E*>(in.address),
        static_cast<E>(significant_bits(in.dtype)));
  });
}

template <class Place>
void place(engine::Stream& stream, const Marks& marks, const Place& place) {
  launch(
      stream,
      place_kernel<Place>,
      dim3(static_cast<unsigned>(marks.blocks())),
      dim3(kThreads),
      0,
      marks,
      place);
}

int64_t read_count(engine::Stream& stream, const Marks& marks) {
  int64_t count = 0;
  Copy copy{};
  copy.dst = &count;
  copy.src = marks.count;
  copy.width = sizeof count;
  copy.kind = musaMemcpyDeviceToHost;
  runtime().copy(stream, copy, true);
  return count;
}

} // namespace

size_t select_workspace_bytes(const View& in) {
  return kWordsBegin +
      static_cast<size_t>(tiles_of(in.numel)) * kTileWords * sizeof(uint32_t);
}

int64_t CudaDnn::nonzero(
    Stream& stream,
    const View& out,
    const View& in,
    Workspace workspace) {
  if (in.numel == 0)
    return 0;
  const Marks marks = make_marks(workspace, in.numel);
  mark(stream, marks, in);
  PlaceCoordinates to{};
  to.out = static_cast<int64_t*>(out.address);
  to.rank = in.rank;
  to.narrow = in.numel < int64_t{1} << 31;
  for (int d = 0; d < in.rank; ++d) {
    to.dims[d] = in.dims[d];
    if (to.narrow)
      to.dividers[d] = make_divider(in.dims[d]);
  }
  place(stream, marks, to);
  return read_count(stream, marks);
}

int64_t CudaDnn::masked_select(
    Stream& stream,
    const View& out,
    const View& in,
    const View& mask,
    Workspace workspace) {
  if (in.numel == 0)
    return 0;
  const Marks marks = make_marks(workspace, in.numel);
  mark(stream, marks, mask);
  with_bits(element_bytes(in.dtype), [&](auto tag) {
    using E = decltype(tag);
    place(
        stream,
        marks,
        PlaceElement<E>{
            static_cast<const E*>(in.address),
            static_cast<E*>(out.address)});
  });
  return read_count(stream, marks);
}

} // namespace musa_standin::engine::cuda
