// SPDX-License-Identifier: Apache-2.0
// The CPU engine's scatters.
#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/lines.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"
#include "toolkit/engine/error.h"

#include "toolkit/kernels/arithmetic.h"
#include "toolkit/kernels/convert.h"

#include <algorithm>
#include <string>
#include <type_traits>

namespace musa_standin::engine::cpu {

namespace {

// Elements that share all coordinates but the axis are one thread's, in order:
// among equal indices the last update wins, and sums do not vary.
struct ScatterTask {
  ScatterMode mode;
  Dtype dtype;
  bool wide;
  int32_t rank;
  int32_t axis;
  void* self;
  const void* index;
  const void* update;
  int64_t lines;
  int64_t dims[kMaxRank]; // of index
  int64_t index_strides[kMaxRank];
  int64_t update_strides[kMaxRank];
  int64_t self_strides[kMaxRank];
  int64_t extent; // of self along the axis

  struct Line {
    int64_t index = 0;
    int64_t update = 0;
    int64_t self = 0;
  };

  Line line(int64_t position) const {
    Line at;
    for (int d = rank - 1; d >= 0; --d) {
      if (d == axis)
        continue;
      const int64_t i = position % dims[d];
      position /= dims[d];
      at.index += i * index_strides[d];
      at.update += i * update_strides[d];
      at.self += i * self_strides[d];
    }
    return at;
  }

  template <class E, class F>
  void each(F&& apply) const {
    E* to = host<E>(self);
    const void* picks = host<const void>(index);
    const E* from = host<const E>(update);
    const int64_t grain = std::max<int64_t>(1, 8192 / dims[axis]);
    parallel_for(lines, grain, [&](int64_t begin, int64_t end) {
      for (int64_t l = begin; l < end; ++l) {
        const Line at = line(l);
        for (int64_t i = 0; i < dims[axis]; ++i) {
          const int64_t k =
              index_at(picks, wide, at.index + i * index_strides[axis]);
          if (k < 0 || k >= extent)
            throw Error(
                musaErrorAssert,
                "index " + std::to_string(k) +
                    " is out of range for an extent of " +
                    std::to_string(extent));
          apply(
              to[at.self + k * self_strides[axis]],
              from[at.update + i * update_strides[axis]]);
        }
      }
    });
  }

  template <class E>
  void combine() const {
    using C = std::conditional_t<
        std::is_integral_v<E>,
        int64_t,
        std::conditional_t<std::is_same_v<E, double>, double, float>>;
    using In = kernels::Widen<C, E>;
    using Out = kernels::Narrow<E, C>;
    each<E>([&](E& to, E from) {
      const C a = In::of(to);
      const C b = In::of(from);
      switch (mode) {
      case ScatterMode::kAdd:
        to = Out::of(kernels::plus(a, b));
        break;
      case ScatterMode::kSub:
        to = Out::of(kernels::minus(a, b));
        break;
      default:
        to = Out::of(kernels::times(a, b));
      }
    });
  }

  void operator()() const {
    if (mode == ScatterMode::kUpdate) {
      with_bits(element_bytes(dtype), [&](auto tag) {
        using E = decltype(tag);
        each<E>([](E& to, E from) { to = from; });
      });
      return;
    }
    with_number(dtype, [&](auto tag) { combine<decltype(tag)>(); });
  }
};

} // namespace

void CpuDnn::scatter(
    engine::Stream& stream,
    ScatterMode mode,
    const View& self,
    const View& index,
    const View& update,
    int dim) {
  ScatterTask task;
  task.mode = mode;
  task.dtype = self.dtype;
  task.wide = index.dtype == Dtype::kInt64;
  task.rank = index.rank;
  task.axis = dim;
  task.self = self.address;
  task.index = index.address;
  task.update = update.address;
  task.lines = index.numel / index.dims[dim];
  task.extent = self.dims[dim];
  for (int d = 0; d < index.rank; ++d) {
    task.dims[d] = index.dims[d];
    task.index_strides[d] = index.strides[d];
    task.update_strides[d] = update.strides[d];
    task.self_strides[d] = self.strides[d];
  }
  submit(stream, "Scatter", task);
}

} // namespace musa_standin::engine::cpu
