// SPDX-License-Identifier: Apache-2.0
// The CPU engine's gathers.
#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/lines.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"
#include "toolkit/engine/error.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace musa_standin::engine::cpu {

namespace {

constexpr int64_t kGrainBytes = int64_t{1} << 16;

[[noreturn]] void out_of_range(int64_t index, int64_t extent) {
  throw Error(
      musaErrorAssert,
      "index " + std::to_string(index) + " is out of range for an extent of " +
          std::to_string(extent));
}

int64_t checked(int64_t index, int64_t extent) {
  if (index < 0 || index >= extent)
    out_of_range(index, extent);
  return index;
}

void copy_slice(char* to, const char* from, int64_t bytes) {
  switch (bytes) {
  case 4:
    std::memcpy(to, from, 4);
    break;
  case 8:
    std::memcpy(to, from, 8);
    break;
  default:
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

// out[b, o, i, :] = in[b, o, index[b, i], :], with slices of `bytes`.
struct SliceGather {
  void* out;
  const void* index;
  const void* in;
  bool wide;
  int64_t batches;
  int64_t outer;
  int64_t picks;
  int64_t extent;
  int64_t bytes;

  void operator()() const {
    char* to = host<char>(out);
    const void* at = host<const void>(index);
    const char* from = host<const char>(in);
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / bytes);
    parallel_for(
        batches * outer * picks,
        grain,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t row = i / picks; // of batch and outer
            const int64_t which = row / outer * picks + i % picks;
            const int64_t k = checked(index_at(at, wide, which), extent);
            copy_slice(
                to + i * bytes,
                from + (row * extent + k) * bytes,
                bytes);
          }
        });
  }
};

// out and index share their sizes; in has its own along all axes.
struct ElementGather {
  void* out;
  const void* index;
  const void* in;
  bool wide;
  int32_t rank;
  int32_t axis;
  int64_t bytes;
  int64_t numel;
  int64_t extent;
  int64_t dims[kMaxRank];
  int64_t strides[kMaxRank]; // of in

  template <class E>
  void run(int64_t begin, int64_t end) const {
    E* to = host<E>(out);
    const void* picks = host<const void>(index);
    const E* from = host<const E>(in);
    const int last = rank - 1;
    int64_t at[kMaxRank];
    int64_t rest = begin;
    int64_t base = 0; // of all coordinates but the axis
    for (int d = last; d >= 0; --d) {
      at[d] = rest % dims[d];
      rest /= dims[d];
      base += d == axis ? 0 : at[d] * strides[d];
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t k = checked(index_at(picks, wide, i), extent);
      to[i] = from[base + k * strides[axis]];
      for (int d = last; d >= 0; --d) {
        const int64_t step = d == axis ? 0 : strides[d];
        if (++at[d] < dims[d]) {
          base += step;
          break;
        }
        at[d] = 0;
        base -= (dims[d] - 1) * step;
      }
    }
  }

  void operator()() const {
    with_bits(bytes, [&](auto tag) {
      parallel_for(numel, 8192, [&](int64_t begin, int64_t end) {
        run<decltype(tag)>(begin, end);
      });
    });
  }
};

// index[..., k] holds the first k coordinates of a slice.
struct CoordinateGather {
  void* out;
  const void* index;
  const void* in;
  bool wide;
  int32_t coordinates;
  int64_t picks;
  int64_t bytes;
  int64_t dims[kMaxRank];

  void operator()() const {
    char* to = host<char>(out);
    const void* at = host<const void>(index);
    const char* from = host<const char>(in);
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / bytes);
    parallel_for(picks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t slice = 0;
        for (int c = 0; c < coordinates; ++c)
          slice = slice * dims[c] +
              checked(index_at(at, wide, i * coordinates + c), dims[c]);
        copy_slice(to + i * bytes, from + slice * bytes, bytes);
      }
    });
  }
};

int64_t product(const View& v, int begin, int end) {
  int64_t n = 1;
  for (int d = begin; d < end; ++d)
    n *= v.dims[d];
  return n;
}

} // namespace

void CpuDnn::gather(
    engine::Stream& stream,
    GatherMode mode,
    const View& out,
    const View& index,
    const View& in,
    int axis,
    int batch_dims) {
  const int64_t bytes = element_bytes(in.dtype);
  const bool wide = index.dtype == Dtype::kInt64;
  if (mode == GatherMode::kSlices) {
    submit(
        stream,
        "GatherX",
        SliceGather{
            out.address,
            index.address,
            in.address,
            wide,
            product(in, 0, batch_dims),
            product(in, batch_dims, axis),
            product(index, batch_dims, index.rank),
            in.dims[axis],
            product(in, axis + 1, in.rank) * bytes});
    return;
  }
  if (mode == GatherMode::kElements) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): set by rank
    ElementGather task;
    task.out = out.address;
    task.index = index.address;
    task.in = in.address;
    task.wide = wide;
    task.rank = in.rank;
    task.axis = axis;
    task.bytes = bytes;
    task.numel = out.numel;
    task.extent = in.dims[axis];
    for (int d = 0; d < in.rank; ++d) {
      task.dims[d] = out.dims[d];
      task.strides[d] = in.strides[d];
    }
    submit(stream, "GatherX", task);
    return;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): set by rank
  CoordinateGather task;
  task.out = out.address;
  task.index = index.address;
  task.in = in.address;
  task.wide = wide;
  task.coordinates = static_cast<int32_t>(index.dims[index.rank - 1]);
  task.picks = product(index, 0, index.rank - 1);
  task.bytes = product(in, task.coordinates, in.rank) * bytes;
  for (int d = 0; d < task.coordinates; ++d)
    task.dims[d] = in.dims[d];
  submit(stream, "GatherX", task);
}

} // namespace musa_standin::engine::cpu
