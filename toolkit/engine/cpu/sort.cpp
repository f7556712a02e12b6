// SPDX-License-Identifier: Apache-2.0
// The CPU engine's sorts and selections of the k best.
#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/lines.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

#include "toolkit/kernels/convert.h"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace musa_standin::engine::cpu {

namespace {

// What elements are compared as.
template <class E>
using Key = std::conditional_t<
    std::is_integral_v<E>,
    E,
    std::conditional_t<std::is_same_v<E, double>, double, float>>;

template <class E>
Key<E> key_of(E e) {
  if constexpr (std::is_integral_v<E>) {
    return e;
  } else {
    return kernels::Widen<Key<E>, E>::of(e);
  }
}

template <class K>
struct Item {
  K key;
  int64_t at;
};

// NaN counts as the largest.
template <class K>
bool precedes(K a, K b) {
  if constexpr (std::is_floating_point_v<K>) {
    return a < b || (b != b && a == a);
  } else {
    return a < b;
  }
}

struct SortTask {
  Dtype dtype;
  bool descending;
  bool stable;
  bool whole; // all of the line, or the first k
  bool sorted;
  int64_t k;
  Lines lines; // of the input
  void* values;
  int64_t* indices;
  const void* in;

  template <class K>
  void order(std::vector<Item<K>>& items) const {
    const bool down = descending;
    const auto before = [down](const Item<K>& a, const Item<K>& b) {
      return down ? precedes(b.key, a.key) : precedes(a.key, b.key);
    };
    // With positions: no two are equal, so that any algorithm is stable.
    const auto total = [&](const Item<K>& a, const Item<K>& b) {
      return before(a, b) || (!before(b, a) && a.at < b.at);
    };
    const auto kth = items.begin() + static_cast<std::ptrdiff_t>(k);
    if (whole) {
      if (stable) {
        std::stable_sort(items.begin(), items.end(), before);
      } else {
        std::sort(items.begin(), items.end(), before);
      }
      return;
    }
    if (k < static_cast<int64_t>(items.size()))
      std::nth_element(items.begin(), kth, items.end(), total);
    if (sorted)
      std::sort(items.begin(), kth, total);
  }

  template <class E>
  void run() const {
    const E* from = host<const E>(in);
    E* to = values != nullptr ? host<E>(values) : nullptr;
    int64_t* at = indices != nullptr ? host<int64_t>(indices) : nullptr;
    Lines results = lines;
    results.extent = k;
    const int64_t grain = std::max<int64_t>(1, 4096 / lines.extent);
    parallel_for(lines.count(), grain, [&](int64_t begin, int64_t end) {
      std::vector<Item<Key<E>>> items(static_cast<size_t>(lines.extent));
      for (int64_t l = begin; l < end; ++l) {
        const E* x = from + lines.start(l);
        for (int64_t i = 0; i < lines.extent; ++i)
          items[static_cast<size_t>(i)] = {key_of(x[i * lines.inner]), i};
        order(items);
        const int64_t start = results.start(l);
        for (int64_t i = 0; i < k; ++i) {
          const int64_t source = items[static_cast<size_t>(i)].at;
          const int64_t target = start + i * lines.inner;
          if (at != nullptr)
            at[target] = source;
          if (to != nullptr)
            to[target] = x[source * lines.inner];
        }
      }
    });
  }

  void operator()() const {
    with_number(dtype, [&](auto tag) { run<decltype(tag)>(); });
  }
};

} // namespace

void CpuDnn::sort(engine::Stream& stream, const SortArgs& args) {
  SortTask task;
  task.dtype = args.in.dtype;
  task.descending = args.descending;
  task.stable = args.stable;
  task.whole = true;
  task.sorted = true;
  task.lines = Lines(args.in, args.dim);
  task.k = task.lines.extent;
  task.values = args.values.address;
  task.indices = static_cast<int64_t*>(args.indices.address);
  task.in = args.in.address;
  submit(stream, "Sort", task);
}

void CpuDnn::topk(engine::Stream& stream, const TopkArgs& args) {
  SortTask task;
  task.dtype = args.in.dtype;
  task.descending = args.largest;
  task.stable = true;
  task.whole = false;
  task.sorted = args.sorted;
  task.k = args.k;
  task.lines = Lines(args.in, args.dim);
  task.values = args.values.address;
  task.indices = static_cast<int64_t*>(args.indices.address);
  task.in = args.in.address;
  submit(stream, "TopK", task);
}

} // namespace musa_standin::engine::cpu
