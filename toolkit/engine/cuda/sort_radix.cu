// SPDX-License-Identifier: Apache-2.0
// Sorts of long lines: several lines at once by keys that begin with the line.
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/sort_keys.cuh"

#include "toolkit/engine/error.h"
#include "toolkit/engine/thread_state.h"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 4; // items of a thread
constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

int bits_for(int64_t lines) {
  int bits = 0;
  while ((int64_t{1} << bits) < lines)
    ++bits;
  return bits;
}

// Some lines of a job.
struct Part {
  SortJob job;
  int64_t first;
  uint32_t total; // items
  Divider by_items;
  int shift; // of the line in keys; 0 if they have none
};

// Which keys: 4 bytes, or 8, or 8 in two sorts, the second by lines.
struct Plan {
  int key_bits;
  int line_bits;
  bool wide;
  bool twice;

  Plan(int64_t together, int64_t element_bytes)
      : key_bits(static_cast<int>(8 * element_bytes)),
        line_bits(bits_for(together)), wide(key_bits + line_bits > 32),
        twice(key_bits + line_bits > 64) {}
  [[nodiscard]] int64_t key_bytes() const { return wide ? 8 : 4; }
};

template <class K>
size_t sort_bytes(int64_t total) {
  size_t bytes = 0;
  cub::DoubleBuffer<K> keys(nullptr, nullptr);
  cub::DoubleBuffer<uint32_t> items(nullptr, nullptr);
  check(cub::DeviceRadixSort::SortPairs(
      nullptr,
      bytes,
      keys,
      items,
      static_cast<uint32_t>(total),
      0,
      static_cast<int>(8 * sizeof(K))));
  return bytes;
}

// Item i of the thread's, a warp's side by side; at most the last one.
__device__ uint32_t own_item(const Part& part, int i) {
  const uint32_t n = (blockIdx.x * kEach + i) * kThreads + threadIdx.x;
  return n < part.total ? n : part.total - 1;
}

template <class K, class Bits>
__global__ void __launch_bounds__(kThreads)
    encode_kernel(Part part, K* __restrict__ keys, uint32_t* __restrict__ to) {
  const SortJob& job = part.job;
  const Codec<Bits> codec(job.codec);
  Bits bits[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const uint32_t n = own_item(part, i);
    const uint32_t local = part.by_items.quotient(n);
    const int64_t line = part.first + local;
    const uint32_t item = n - local * part.by_items.divisor;
    const int64_t at = line_start(job, line, job.extent) +
        position_of(job, line, item) * job.inner;
    bits[i] = load_bits<Bits>(job.in, job.codec.bytes, at);
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const uint32_t n = own_item(part, i);
    const K key = codec.encode(bits[i]);
    if (part.shift != 0) {
      const uint32_t local = part.by_items.quotient(n);
      keys[n] = key | static_cast<K>(local) << part.shift;
      to[n] = n - local * part.by_items.divisor;
    } else {
      keys[n] = key;
      to[n] = n;
    }
  }
}

// The lines of items that were sorted whatever their line.
__global__ void __launch_bounds__(kThreads) line_kernel(
    Part part,
    const uint32_t* __restrict__ items,
    uint32_t* __restrict__ lines) {
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const uint32_t n = own_item(part, i);
    lines[n] = part.by_items.quotient(items[n]);
  }
}

// Writes one item. Its key is missing if only the items are left.
template <class K, class Bits>
__device__ void write_sorted(
    const Part& part,
    const Codec<Bits>& codec,
    uint32_t n,
    uint32_t item,
    bool has_key,
    K key) {
  const SortJob& job = part.job;
  const uint32_t local = part.by_items.quotient(n);
  const uint32_t rank = n - local * part.by_items.divisor;
  const int64_t line = part.first + local;
  if (part.shift == 0)
    item -= local * part.by_items.divisor;
  const int64_t position = position_of(job, line, item);
  const int64_t target =
      line_start(job, line, job.kept) + int64_t{rank} * job.inner;
  if (job.indices != nullptr)
    job.indices[target] = position;
  if (job.values == nullptr)
    return;
  Bits bits = 0;
  if (!has_key || !codec.decode(static_cast<Bits>(key) & codec.mask, bits))
    bits = load_bits<Bits>(
        job.in,
        job.codec.bytes,
        line_start(job, line, job.extent) + position * job.inner);
  store_bits<Bits>(job.values, job.codec.bytes, target, bits);
}

template <class K, class Bits>
__global__ void __launch_bounds__(kThreads) write_kernel(
    Part part,
    const K* __restrict__ keys,
    const uint32_t* __restrict__ items) {
  const Codec<Bits> codec(part.job.codec);
  uint32_t own[kEach];
  K key[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const uint32_t n = own_item(part, i);
    own[i] = items[n];
    key[i] = keys != nullptr ? keys[n] : K(0);
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    write_sorted(
        part,
        codec,
        own_item(part, i),
        own[i],
        keys != nullptr,
        key[i]);
}

dim3 blocks_of(const Part& part) {
  constexpr uint32_t kBlock = kThreads * kEach;
  return dim3((part.total + kBlock - 1) / kBlock);
}

// Hands out pieces of the workspace.
class Carver {
 public:
  explicit Carver(const Workspace& workspace)
      : at_(static_cast<char*>(workspace.address)), left_(workspace.bytes) {}
  void* take(size_t bytes) {
    bytes = aligned(bytes);
    if (bytes > left_)
      throw Error(musaErrorInvalidValue, "sort: the workspace is too small");
    void* const piece = at_;
    at_ += bytes;
    left_ -= bytes;
    return piece;
  }

 private:
  char* at_;
  size_t left_;
};

template <class K>
cub::DoubleBuffer<K> twin(void* first, void* second) {
  return {static_cast<K*>(first), static_cast<K*>(second)};
}

template <class K>
void sort_pairs(
    engine::Stream& stream,
    void* storage,
    size_t bytes,
    cub::DoubleBuffer<K>& keys,
    cub::DoubleBuffer<uint32_t>& items,
    uint32_t total,
    int bits) {
  check(cub::DeviceRadixSort::SortPairs(
      storage,
      bytes,
      keys,
      items,
      total,
      0,
      bits,
      native(stream)));
}

template <class K, class Bits>
void run(
    engine::Stream& stream,
    const Part& part,
    const Plan& plan,
    Workspace workspace) {
  const size_t total = part.total;
  Carver carver(workspace);
  void* const first = carver.take(total * sizeof(K));
  void* const second = carver.take(total * sizeof(K));
  auto keys = twin<K>(first, second);
  void* const left = carver.take(total * sizeof(uint32_t));
  void* const right = carver.take(total * sizeof(uint32_t));
  auto items = twin<uint32_t>(left, right);
  size_t bytes = sort_bytes<K>(part.total);
  if (plan.twice)
    bytes = std::max(bytes, sort_bytes<uint32_t>(part.total));
  void* const storage = carver.take(bytes);
  launch(
      stream,
      encode_kernel<K, Bits>,
      blocks_of(part),
      dim3(kThreads),
      0,
      part,
      keys.Current(),
      items.Current());
  const int bits = plan.key_bits + (part.shift != 0 ? plan.line_bits : 0);
  sort_pairs(stream, storage, bytes, keys, items, part.total, bits);
  const K* sorted = keys.Current();
  if (plan.twice) {
    auto lines = twin<uint32_t>(first, second);
    launch(
        stream,
        line_kernel,
        blocks_of(part),
        dim3(kThreads),
        0,
        part,
        items.Current(),
        lines.Current());
    sort_pairs(
        stream,
        storage,
        bytes,
        lines,
        items,
        part.total,
        plan.line_bits);
    sorted = nullptr;
  }
  launch(
      stream,
      write_kernel<K, Bits>,
      blocks_of(part),
      dim3(kThreads),
      0,
      part,
      sorted,
      items.Current());
}

} // namespace

size_t radix_bytes(int64_t together, int64_t items, int64_t element_bytes) {
  use_device(t_state.device); // which CUB asks for its architecture
  const Plan plan(together, element_bytes);
  const int64_t total = together * items;
  const size_t storage =
      plan.wide ? sort_bytes<uint64_t>(total) : sort_bytes<uint32_t>(total);
  const size_t second = plan.twice ? sort_bytes<uint32_t>(total) : 0;
  return 2 * aligned(static_cast<size_t>(total * plan.key_bytes())) +
      2 * aligned(static_cast<size_t>(total) * sizeof(uint32_t)) +
      aligned(std::max(storage, second));
}

void sort_by_radix(
    engine::Stream& stream,
    const SortJob& job,
    int64_t together,
    Workspace workspace) {
  use_device(stream.device());
  const Plan plan(together, job.codec.bytes);
  for (int64_t line = 0; line < job.lines; line += together) {
    const int64_t lines = std::min(together, job.lines - line);
    const Part part{
        job,
        line,
        static_cast<uint32_t>(lines * job.items),
        make_divider(job.items),
        plan.twice || plan.line_bits == 0 ? 0 : plan.key_bits};
    if (job.codec.bytes == 8)
      run<uint64_t, uint64_t>(stream, part, plan, workspace);
    else if (plan.wide)
      run<uint64_t, uint32_t>(stream, part, plan, workspace);
    else
      run<uint32_t, uint32_t>(stream, part, plan, workspace);
  }
}

} // namespace musa_standin::engine::cuda
