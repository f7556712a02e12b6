// SPDX-License-Identifier: Apache-2.0
// The CPU engine's cumulative sums and products.
#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/lines.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

#include "toolkit/kernels/arithmetic.h"
#include "toolkit/kernels/convert.h"

#include <algorithm>
#include <type_traits>

namespace musa_standin::engine::cpu {

namespace {

constexpr int64_t kGrain = 32768;

template <class E>
constexpr bool kIsWhole = std::is_integral_v<E>;
template <class E>
using Sum = std::conditional_t<kIsWhole<E>, int64_t, double>;

struct CumTask {
  CumMode mode = CumMode::kAdd;
  Dtype dtype = Dtype::kFloat;
  void* out = nullptr;
  const void* in = nullptr;
  Lines lines;

  // n neighbouring lines, side by side.
  template <class E, bool Product>
  void scan(E* to, const E* from, int64_t n) const {
    constexpr int64_t kSide = 64;
    Sum<E> acc[kSide];
    std::fill_n(acc, n, Sum<E>(Product ? 1 : 0));
    for (int64_t k = 0; k < lines.extent; ++k) {
      for (int64_t i = 0; i < n; ++i) {
        const auto x = kernels::Widen<Sum<E>, E>::of(from[i]);
        acc[i] = Product ? kernels::times(acc[i], x) : kernels::plus(acc[i], x);
        to[i] = kernels::Narrow<E, Sum<E>>::of(acc[i]);
      }
      from += lines.inner;
      to += lines.inner;
    }
  }

  template <class E>
  void run() const {
    E* to = host<E>(out);
    const E* from = host<const E>(in);
    const int64_t grain = std::max<int64_t>(1, kGrain / lines.extent);
    parallel_for(lines.count(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end;) {
        const int64_t side = lines.inner - at % lines.inner;
        const int64_t n = std::min({int64_t{64}, side, end - at});
        const int64_t start = lines.start(at);
        if (mode == CumMode::kAdd) {
          scan<E, false>(to + start, from + start, n);
        } else {
          scan<E, true>(to + start, from + start, n);
        }
        at += n;
      }
    });
  }

  void operator()() const {
    with_number(dtype, [&](auto tag) { run<decltype(tag)>(); });
  }
};

} // namespace

void CpuDnn::cum(
    engine::Stream& stream,
    CumMode mode,
    const View& out,
    const View& in,
    int dim,
    Workspace /*workspace*/) {
  submit(
      stream,
      "Cum",
      CumTask{mode, in.dtype, out.address, in.address, Lines(in, dim)});
}

} // namespace musa_standin::engine::cpu
