// SPDX-License-Identifier: Apache-2.0
// The CPU engine's operators whose result has a size of its own.
#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/elementwise.h"
#include "toolkit/engine/cpu/lines.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"
#include "toolkit/engine/error.h"
#include "toolkit/engine/runtime.h"

#include <algorithm>
#include <cstring>

namespace musa_standin::engine::cpu {

namespace {

constexpr int64_t kParts = 64;
constexpr int64_t kPartGrain = 16384;

// Which elements of a dense operand are not zero, a block at a time.
struct Tester {
  LoadFn load;
  const char* in;
  int64_t bytes;

  // Calls f(position) for each of them in [begin, end).
  template <class F>
  void each(int64_t begin, int64_t end, F&& f) const {
    uint8_t block[kBlock];
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t n = std::min(kBlock, end - at);
      load(block, in + at * bytes, n, 1);
      for (int64_t i = 0; i < n; ++i) {
        if (block[i] != 0)
          f(at + i);
      }
    }
  }
};

// Counts parts, then calls place(position, rank) for every element that is
// not zero; rank counts from zero. Returns the number of them.
template <class F>
int64_t place_all(const Tester& tester, int64_t numel, F&& place) {
  const int64_t parts = std::clamp<int64_t>(numel / kPartGrain, 1, kParts);
  int64_t first[kParts + 1] = {};
  const auto edge = [&](int64_t p) { return numel * p / parts; };
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      int64_t count = 0;
      tester.each(edge(p), edge(p + 1), [&](int64_t) { ++count; });
      first[p + 1] = count;
    }
  });
  for (int64_t p = 0; p < parts; ++p)
    first[p + 1] += first[p];
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      int64_t rank = first[p];
      tester.each(edge(p), edge(p + 1), [&](int64_t at) { place(at, rank++); });
    }
  });
  return first[parts];
}

struct NonzeroTask {
  LoadFn load;
  const void* in;
  int64_t bytes;
  int64_t numel;
  int64_t* out;
  int64_t* count;
  int32_t rank;
  int64_t dims[kMaxRank];

  void operator()() const {
    int64_t* to = host<int64_t>(out);
    const Tester tester{load, host<const char>(in), bytes};
    *host<int64_t>(count) =
        place_all(tester, numel, [&](int64_t at, int64_t row) {
          for (int d = rank - 1; d >= 0; --d) {
            to[row * rank + d] = at % dims[d];
            at /= dims[d];
          }
        });
  }
};

struct MaskedSelectTask {
  LoadFn load;
  const void* in;
  const void* mask;
  void* out;
  int64_t* count;
  int64_t bytes;
  int64_t numel;

  void operator()() const {
    const Tester tester{load, host<const char>(mask), 1};
    with_bits(bytes, [&](auto tag) {
      using E = decltype(tag);
      const E* from = host<const E>(in);
      E* to = host<E>(out);
      *host<int64_t>(count) =
          place_all(tester, numel, [&](int64_t at, int64_t rank) {
            to[rank] = from[at];
          });
    });
  }
};

int64_t read_count(engine::Stream& stream, const void* count) {
  runtime().synchronize_stream(stream);
  return *host<const int64_t>(count);
}

} // namespace

size_t CpuDnn::workspace_bytes(Family family, const View& /*in*/) {
  return family == Family::kNonzero || family == Family::kMaskedSelect
      ? sizeof(int64_t)
      : 0;
}

int64_t CpuDnn::nonzero(
    engine::Stream& stream,
    const View& out,
    const View& in,
    Workspace workspace) {
  NonzeroTask task;
  task.load = load_of(in.dtype, kU8);
  task.in = in.address;
  task.bytes = element_bytes(in.dtype);
  task.numel = in.numel;
  task.out = static_cast<int64_t*>(out.address);
  task.count = static_cast<int64_t*>(workspace.address);
  task.rank = in.rank;
  for (int d = 0; d < in.rank; ++d)
    task.dims[d] = in.dims[d];
  submit(stream, "Nonzero", task);
  return read_count(stream, workspace.address);
}

int64_t CpuDnn::masked_select(
    engine::Stream& stream,
    const View& out,
    const View& in,
    const View& mask,
    Workspace workspace) {
  submit(
      stream,
      "MaskedSelect",
      MaskedSelectTask{
          load_of(Dtype::kBool, kU8),
          in.address,
          mask.address,
          out.address,
          static_cast<int64_t*>(workspace.address),
          element_bytes(in.dtype),
          in.numel});
  return read_count(stream, workspace.address);
}

} // namespace musa_standin::engine::cpu
