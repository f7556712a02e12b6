// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's gathers.
#include "toolkit/engine/cuda/device_error.h"
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/index_at.h"
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/offsets.h"

#include "toolkit/engine/error.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 4; // units or elements of a thread
constexpr int64_t kLimit = int64_t{1} << 31;
constexpr const char* kTask = "GatherX";

// Where indices out of range are told.
struct Reporter {
  DeviceError* slot;
  uint64_t task;
  __device__ bool accepts(int64_t index, int64_t extent) const {
    if (index >= 0 && index < extent)
      return true;
    report(slot, musaErrorAssert, task);
    return false;
  }
};

Reporter reporter(engine::Stream& stream) {
  return {error_slot(stream.device()), task_address(kTask)};
}

// Row r of out, of `outer` x picks rows a batch, comes from a row of in that
// the index names. `first` rows of batch and outer were done before.
struct Slices {
  Reporter reporter;
  const void* index;
  bool wide;
  bool batched;
  int64_t first;
  int64_t outer;
  int64_t extent;
  Divider picks;

  // -1 for an index out of range.
  __device__ int64_t source(uint32_t row) const {
    const uint32_t q = picks.quotient(row);
    const uint32_t pick = row - q * picks.divisor;
    const int64_t batch = batched ? (first + q) / outer : 0;
    const int64_t k = index_at(index, wide, batch * picks.divisor + pick);
    return reporter.accepts(k, extent) ? q * extent + k : -1;
  }
};

// Row r comes from the place whose leading coordinates are the r-th of index.
struct Coordinates {
  Reporter reporter;
  const void* index;
  bool wide;
  int32_t count;
  int64_t dims[kMaxRank];

  __device__ int64_t source(uint32_t row) const {
    int64_t at = 0;
    for (int d = 0; d < count; ++d) {
      const int64_t k = index_at(index, wide, int64_t{row} * count + d);
      if (!reporter.accepts(k, dims[d]))
        return -1;
      at = at * dims[d] + k;
    }
    return at;
  }
};

// Rows of `units` units each, unit by unit.
template <class Unit, class Source>
__global__ void __launch_bounds__(kThreads) row_kernel(
    Source source,
    Divider units,
    uint32_t total,
    Unit* __restrict__ out,
    const Unit* __restrict__ in) {
  const uint32_t base = blockIdx.x * (kThreads * kEach) + threadIdx.x;
  const Unit* from[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const uint32_t n = base + i * kThreads;
    from[i] = nullptr;
    if (n < total) {
      const uint32_t row = units.quotient(n);
      const int64_t at = source.source(row);
      if (at >= 0)
        from[i] = in + at * units.divisor + (n - row * units.divisor);
    }
  }
  Unit values[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (from[i] != nullptr)
      values[i] = *from[i];
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (from[i] != nullptr)
      out[base + i * kThreads] = values[i];
  }
}

// f(Unit()) with the largest unit that rows and addresses are made of.
template <class F>
void with_unit(const void* out, const void* in, int64_t row_bytes, F&& f) {
  const uint64_t all = reinterpret_cast<uintptr_t>(out) |
      reinterpret_cast<uintptr_t>(in) | static_cast<uint64_t>(row_bytes);
  if (all % 16 == 0)
    return f(uint4());
  if (all % 8 == 0)
    return f(uint64_t());
  if (all % 4 == 0)
    return f(uint32_t());
  if (all % 2 == 0)
    return f(uint16_t());
  f(uint8_t());
}

dim3 blocks_of(int64_t total, int64_t each) {
  return dim3(static_cast<unsigned>((total + each - 1) / each));
}

// Fewer than 2^31 units in all, if a row is not that long itself.
template <class Source>
void copy_rows(
    engine::Stream& stream,
    const Source& source,
    int64_t rows,
    int64_t row_bytes,
    char* out,
    const char* in) {
  with_unit(out, in, row_bytes, [&](auto tag) {
    using Unit = decltype(tag);
    const int64_t units = row_bytes / static_cast<int64_t>(sizeof(Unit));
    const int64_t total = rows * units;
    if (total >= kLimit)
      throw Error(
          musaErrorNotSupported,
          "GatherX: slices of over 2^31 bytes start at multiples of 16");
    launch(
        stream,
        row_kernel<Unit, Source>,
        blocks_of(total, kThreads * kEach),
        dim3(kThreads),
        0,
        source,
        make_divider(units),
        static_cast<uint32_t>(total),
        reinterpret_cast<Unit*>(out),
        reinterpret_cast<const Unit*>(in));
  });
}

// Rows of so many bytes that one launch takes: units have one byte at least.
int64_t rows_at_once(int64_t row_bytes) {
  return std::max<int64_t>(1, (kLimit - 1) / row_bytes);
}

int64_t product(const View& v, int begin, int end) {
  int64_t n = 1;
  for (int d = begin; d < end; ++d)
    n *= v.dims[d];
  return n;
}

// out[b, o, i, :] = in[b, o, index[b, i], :]
void gather_slices(
    engine::Stream& stream,
    const View& out,
    const View& index,
    const View& in,
    int axis,
    int batch_dims) {
  const int64_t bytes =
      product(in, axis + 1, in.rank) * element_bytes(in.dtype);
  const int64_t batches = product(in, 0, batch_dims);
  const int64_t outer = product(in, batch_dims, axis);
  const int64_t picks = product(index, batch_dims, index.rank);
  const bool wide = index.dtype == Dtype::kInt64;
  const int64_t index_bytes = element_bytes(index.dtype);
  const int64_t extent = in.dims[axis];
  const int64_t most = rows_at_once(bytes);
  // Whole sets of picks, or parts of one.
  const int64_t sets = std::max<int64_t>(1, most / picks);
  const int64_t part = std::min(most, picks);
  for (int64_t q = 0; q < batches * outer; q += sets) {
    const int64_t now = std::min(sets, batches * outer - q);
    for (int64_t p = 0; p < picks; p += part) {
      const int64_t count = std::min(part, picks - p);
      // A part's picks lie in one batch.
      const int64_t skipped = part < picks ? q / outer * picks + p : int64_t{0};
      const Slices source{
          reporter(stream),
          static_cast<const char*>(index.address) + skipped * index_bytes,
          wide,
          batches > 1 && part == picks,
          q,
          outer,
          extent,
          make_divider(count)};
      copy_rows(
          stream,
          source,
          now * count,
          bytes,
          static_cast<char*>(out.address) + (q * picks + p) * bytes,
          static_cast<const char*>(in.address) + q * extent * bytes);
    }
  }
}

void gather_coordinates(
    engine::Stream& stream,
    const View& out,
    const View& index,
    const View& in) {
  const int64_t count = index.dims[index.rank - 1];
  const int64_t picks = product(index, 0, index.rank - 1);
  const int64_t bytes =
      product(in, static_cast<int>(count), in.rank) * element_bytes(in.dtype);
  Coordinates source{};
  source.reporter = reporter(stream);
  source.wide = index.dtype == Dtype::kInt64;
  source.count = static_cast<int32_t>(count);
  for (int d = 0; d < count; ++d)
    source.dims[d] = in.dims[d];
  const int64_t most = rows_at_once(bytes);
  for (int64_t p = 0; p < picks; p += most) {
    source.index = static_cast<const char*>(index.address) +
        p * count * element_bytes(index.dtype);
    copy_rows(
        stream,
        source,
        std::min(most, picks - p),
        bytes,
        static_cast<char*>(out.address) + p * bytes,
        static_cast<const char*>(in.address));
  }
}

// out, index and, without the axis, in.
template <class E>
__global__ void __launch_bounds__(kThreads) element_kernel(
    Offsets<3> offsets,
    uint32_t total,
    Reporter reporter,
    bool wide,
    int64_t extent,
    int64_t stride, // of in along the axis, in bytes
    char* __restrict__ out,
    const char* __restrict__ index,
    const char* __restrict__ in) {
  const uint32_t base = blockIdx.x * (kThreads * kEach) + threadIdx.x;
  uint32_t position[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const uint32_t n = base + i * kThreads;
    position[i] = n < total ? n : total - 1;
  }
  uint32_t at[3][kEach];
  offsets.of(position, at);
  const E* from[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int64_t k = index_at(index + at[1][i], wide, 0);
    from[i] = reporter.accepts(k, extent)
        ? reinterpret_cast<const E*>(in + at[2][i] + k * stride)
        : nullptr;
  }
  E values[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (from[i] != nullptr)
      values[i] = *from[i];
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (from[i] != nullptr && base + i * kThreads < total)
      *reinterpret_cast<E*>(out + at[0][i]) = values[i];
  }
}

void gather_elements(
    engine::Stream& stream,
    const View& out,
    const View& index,
    const View& in,
    int axis) {
  const View* const views[] = {&out, &index, &in};
  Nest<3> nest = make_nest(views);
  const int64_t stride = nest.strides[2][axis];
  nest.strides[2][axis] = 0;
  collapse(nest);
  char* const address[] = {
      static_cast<char*>(out.address),
      static_cast<char*>(index.address),
      static_cast<char*>(in.address)};
  const Reporter to = reporter(stream);
  const bool wide = index.dtype == Dtype::kInt64;
  for_pieces(nest, address, [&](const Nest<3>& piece, char* const(&at)[3]) {
    with_bits(element_bytes(in.dtype), [&](auto tag) {
      launch(
          stream,
          element_kernel<decltype(tag)>,
          blocks_of(piece.numel(), kThreads * kEach),
          dim3(kThreads),
          0,
          make_offsets(piece),
          static_cast<uint32_t>(piece.numel()),
          to,
          wide,
          in.dims[axis],
          stride,
          at[0],
          at[1],
          at[2]);
    });
  });
}

} // namespace

void CudaDnn::gather(
    Stream& stream,
    GatherMode mode,
    const View& out,
    const View& index,
    const View& in,
    int axis,
    int batch_dims) {
  if (out.numel == 0)
    return;
  if (mode == GatherMode::kSlices)
    gather_slices(stream, out, index, in, axis, batch_dims);
  else if (mode == GatherMode::kElements)
    gather_elements(stream, out, index, in, axis);
  else
    gather_coordinates(stream, out, index, in);
}

} // namespace musa_standin::engine::cuda
