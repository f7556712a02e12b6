// SPDX-License-Identifier: Apache-2.0
// Sorts of short lines: in a warp's registers, or in a block.
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/sort_keys.cuh"

#include <cub/block/block_radix_sort.cuh>

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

constexpr int kThreads = 256;

// Writes the item of this rank.
template <class K>
__device__ void write_item(
    const SortJob& job,
    int64_t line,
    int64_t from,
    int64_t to,
    int rank,
    int64_t item) {
  const int64_t position = position_of(job, line, item);
  const int64_t target = to + rank * job.inner;
  if (job.indices != nullptr)
    job.indices[target] = position;
  if (job.values != nullptr) {
    const int64_t source = from + position * job.inner;
    store_bits<K>(
        job.values,
        job.codec.bytes,
        target,
        load_bits<K>(job.in, job.codec.bytes, source));
  }
}

// A line for every `width` lanes, a power of two not below the items.
template <class K>
__global__ void __launch_bounds__(kThreads)
    warp_sort_kernel(SortJob job, int width) {
  const Codec<K> codec(job.codec);
  const int lane = static_cast<int>(threadIdx.x) % width;
  const int64_t line = static_cast<int64_t>(blockIdx.x) * (kThreads / width) +
      static_cast<int>(threadIdx.x) / width;
  const bool works = line < job.lines;
  const int64_t from = works ? line_start(job, line, job.extent) : 0;
  K key = ~K(0);
  int item = lane;
  if (works && lane < job.items)
    key = codec.encode(load_bits<K>(
        job.in,
        job.codec.bytes,
        from + position_of(job, line, lane) * job.inner));
  // With positions no two are equal, so that the network is stable.
  for (int size = 2; size <= width; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      const K other = __shfl_xor_sync(~0U, key, step);
      const int other_item = __shfl_xor_sync(~0U, item, step);
      const bool before = other < key || (other == key && other_item < item);
      const bool first = ((lane & step) == 0) == ((lane & size) == 0);
      key = first == before ? other : key;
      item = first == before ? other_item : item;
    }
  }
  if (works && lane < job.kept)
    write_item<K>(job, line, from, line_start(job, line, job.kept), lane, item);
}

// A line a block. Items that fill it up have the largest key and come last.
template <class K, int Threads, int Items>
__global__ void __launch_bounds__(Threads) block_sort_kernel(SortJob job) {
  using Sort = cub::BlockRadixSort<K, Threads, Items, uint16_t>;
  __shared__ typename Sort::TempStorage storage;
  const Codec<K> codec(job.codec);
  const int64_t line = blockIdx.x;
  const int64_t from = line_start(job, line, job.extent);
  const int thread = static_cast<int>(threadIdx.x);
  K keys[Items];
  uint16_t items[Items];
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const int item = thread * Items + i;
    items[i] = static_cast<uint16_t>(item);
    keys[i] = ~K(0);
    if (item < job.items)
      keys[i] = load_bits<K>(
          job.in,
          job.codec.bytes,
          from + position_of(job, line, item) * job.inner);
  }
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    if (thread * Items + i < job.items)
      keys[i] = codec.encode(keys[i]);
  }
  Sort(storage).SortBlockedToStriped(keys, items, 0, 8 * job.codec.bytes);
  const int64_t to = line_start(job, line, job.kept);
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const int rank = i * Threads + thread;
    if (rank < job.kept)
      write_item<K>(job, line, from, to, rank, items[i]);
  }
}

template <class K>
void run(engine::Stream& stream, const SortJob& job) {
  if (job.items <= kWarp) {
    int width = 1;
    while (width < job.items)
      width *= 2;
    const int64_t lines = kThreads / width;
    launch(
        stream,
        warp_sort_kernel<K>,
        dim3(static_cast<unsigned>((job.lines + lines - 1) / lines)),
        dim3(kThreads),
        0,
        job,
        width);
    return;
  }
  const dim3 grid(static_cast<unsigned>(job.lines));
  if (job.items <= 256)
    launch(stream, block_sort_kernel<K, 64, 4>, grid, dim3(64), 0, job);
  else if (job.items <= 1024)
    launch(stream, block_sort_kernel<K, 128, 8>, grid, dim3(128), 0, job);
  else
    launch(stream, block_sort_kernel<K, 256, 16>, grid, dim3(256), 0, job);
}

} // namespace

void sort_in_blocks(engine::Stream& stream, const SortJob& job) {
  static_assert(kBlockItems == 256 * 16, "the largest block's");
  job.codec.bytes == 8 ? run<uint64_t>(stream, job)
                       : run<uint32_t>(stream, job);
}

} // namespace musa_standin::engine::cuda
