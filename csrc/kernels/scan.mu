// SPDX-License-Identifier: Apache-2.0
// Scans in three steps: what chunks amount to, a scan of that, the chunks anew.
#include "csrc/kernels/scan.h"

#include "csrc/kernels/launch.h"
#include "csrc/kernels/search_values.h"

#include <math.h> // mcc and nvcc know its functions on the device

namespace torch_fl::kernels {
namespace {

constexpr int64_t kGrain = 4096;
constexpr int64_t kChunk = 32;
// So many lines side by side keep a device busy without chunks.
constexpr int64_t kEnoughLines = int64_t{1} << 15;

// An operation: State of element k, combine(earlier, later), store at k.
template <class T, bool kLargest>
struct Extreme {
  using Root = Extreme;
  using C = decltype(comparable(T{}));
  struct State {
    C value;
    int64_t at;
  };
  T* values;
  int64_t* places;
  const T* in;

  __host__ __device__ State load(int64_t place, int64_t k) const {
    return {comparable(in[place]), k};
  }
  __host__ __device__ static State combine(const State& a, const State& b) {
    const bool beats = kLargest ? b.value >= a.value : b.value <= a.value;
    return is_nan(b.value) || (!is_nan(a.value) && beats) ? b : a;
  }
  __host__ __device__ void store(int64_t place, const State& s) const {
    values[place] = static_cast<T>(s.value);
    places[place] = s.at;
  }
};

__host__ __device__ inline float log_of_sum(float low, float high) {
  return log1pf(expf(low - high)) + high;
}
__host__ __device__ inline double log_of_sum(double low, double high) {
  return log1p(exp(low - high)) + high;
}

template <class T>
struct LogSum {
  using Root = LogSum;
  using C = decltype(comparable(T{}));
  struct State {
    C value;
  };
  T* out;
  const T* in;

  __host__ __device__ State load(int64_t place, int64_t /*k*/) const {
    return {comparable(in[place])};
  }
  __host__ __device__ static State combine(const State& a, const State& b) {
    if (is_nan(a.value) || is_nan(b.value)) {
      return {a.value + b.value};
    }
    const C low = a.value < b.value ? a.value : b.value;
    const C high = a.value < b.value ? b.value : a.value;
    // Two equal infinities have no difference.
    return {low == high && low - high != 0 ? low : log_of_sum(low, high)};
  }
  __host__ __device__ void store(int64_t place, const State& s) const {
    out[place] = static_cast<T>(s.value);
  }
};

// States of the chunks one level down, to be scanned in place.
template <class Op>
struct StatesOf {
  using Root = Op;
  using State = typename Op::State;
  State* states;

  __host__ __device__ State load(int64_t place, int64_t /*k*/) const {
    return states[place];
  }
  __host__ __device__ static State combine(const State& a, const State& b) {
    return Op::combine(a, b);
  }
  __host__ __device__ void store(int64_t place, const State& s) const {
    states[place] = s;
  }
};

struct Lines {
  int64_t n;
  int64_t inner;
  int64_t chunk;
  int64_t chunks;

  // Where a line's element 0 is.
  __host__ __device__ int64_t first(int64_t line) const {
    return inner == 1 ? line * n : line / inner * (n * inner) + line % inner;
  }
};

template <class Op>
struct ChunkStates {
  Op op;
  typename Op::State* states;
  Lines lines;

  __host__ __device__ void operator()(int64_t i) const {
    const int64_t line = i / lines.chunks;
    const int64_t c = i - line * lines.chunks;
    const int64_t first = lines.first(line);
    const int64_t begin = c * lines.chunk;
    const int64_t end =
        begin + lines.chunk < lines.n ? begin + lines.chunk : lines.n;
    auto state = op.load(first + begin * lines.inner, begin);
    for (int64_t k = begin + 1; k < end; ++k) {
      state = Op::combine(state, op.load(first + k * lines.inner, k));
    }
    states[i] = state;
  }
};

template <class Op>
struct ScanChunks {
  Op op;
  const typename Op::State* states; // null: one chunk a line
  Lines lines;

  __host__ __device__ void operator()(int64_t i) const {
    // Lines side by side are neighbours in memory.
    const int64_t line = i / lines.chunks;
    const int64_t c = i - line * lines.chunks;
    const int64_t first = lines.first(line);
    const int64_t begin = c * lines.chunk;
    const int64_t end =
        begin + lines.chunk < lines.n ? begin + lines.chunk : lines.n;
    auto state = op.load(first + begin * lines.inner, begin);
    if (c > 0) {
      state = Op::combine(states[i - 1], state);
    }
    op.store(first + begin * lines.inner, state);
    for (int64_t k = begin + 1; k < end; ++k) {
      state = Op::combine(state, op.load(first + k * lines.inner, k));
      op.store(first + k * lines.inner, state);
    }
  }
};

template <class Op>
musaError_t
scan(const char* name, const Op& op, const FlScan& v, musaStream_t stream) {
  using State = typename Op::State;
  using Level = StatesOf<typename Op::Root>;
  static_assert(sizeof(State) <= 16);
  const int64_t count = v.outer * v.inner;
  const bool whole = v.n <= kChunk || (v.inner > 1 && count >= kEnoughLines);
  const int64_t chunk = whole ? v.n : kChunk;
  const Lines lines{v.n, v.inner, chunk, (v.n + chunk - 1) / chunk};
  const int64_t items = count * lines.chunks;
  const int64_t grain = kGrain / chunk + 1;
  State* states = nullptr;
  if (!whole) {
    states = reachable<State>(v.scratch);
    musaError_t code = for_each(
        name,
        items,
        grain,
        ChunkStates<Op>{op, states, lines},
        stream);
    if (code != musaSuccess) {
      return code;
    }
    const FlScan next{
        count,
        lines.chunks,
        1,
        static_cast<State*>(v.scratch) + items};
    code = scan(name, Level{states}, next, stream);
    if (code != musaSuccess) {
      return code;
    }
  }
  return for_each(
      name,
      items,
      grain,
      ScanChunks<Op>{op, states, lines},
      stream);
}

} // namespace
} // namespace torch_fl::kernels

musaError_t fl_running_extreme(
    FlKernelType type,
    void* values,
    int64_t* places,
    const void* in,
    int32_t largest,
    const FlScan* v,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_type(type, [&](auto typed) {
    using T = typename decltype(typed)::Type;
    T* const to = k::reachable<T>(values);
    int64_t* const at = k::reachable<int64_t>(static_cast<void*>(places));
    const T* const from = k::reachable<T>(in);
    return largest != 0
        ? k::scan("cummax", k::Extreme<T, true>{to, at, from}, *v, stream)
        : k::scan("cummin", k::Extreme<T, false>{to, at, from}, *v, stream);
  });
}

musaError_t fl_logcumsumexp(
    FlKernelType type,
    void* out,
    const void* in,
    const FlScan* v,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_floating(type, [&](auto typed) {
    using T = typename decltype(typed)::Type;
    return k::scan(
        "logcumsumexp",
        k::LogSum<T>{k::reachable<T>(out), k::reachable<T>(in)},
        *v,
        stream);
  });
}
