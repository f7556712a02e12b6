// SPDX-License-Identifier: Apache-2.0
// Groups of equal elements in a row, and an order of whole rows.
#include "csrc/kernels/sort_groups.h"

#include "csrc/kernels/launch.h"
#include "csrc/kernels/search_values.h"

namespace torch_fl::kernels {
namespace {

constexpr int64_t kGrain = 4096;

const int64_t* order_of(const int64_t* order) {
  return order == nullptr ? nullptr : reachable<int64_t>(order);
}
int64_t* places_of(int64_t* places) {
  return places == nullptr ? nullptr
                           : reachable<int64_t>(static_cast<void*>(places));
}

template <class T>
struct Starts {
  int64_t* out;
  const T* data;
  const int64_t* order;
  int64_t columns;

  __host__ __device__ void operator()(int64_t i) const {
    bool differs = i == 0;
    if (!differs) {
      const T* const a =
          data + (order == nullptr ? i - 1 : order[i - 1]) * columns;
      const T* const b = data + (order == nullptr ? i : order[i]) * columns;
      for (int64_t c = 0; c < columns && !differs; ++c) {
        differs = !(comparable(a[c]) == comparable(b[c]));
      }
    }
    out[i] = differs ? 1 : 0;
  }
};

struct Groups {
  const int64_t* ids;
  const int64_t* order;
  int64_t* starts;
  int64_t* inverse;

  __host__ __device__ void operator()(int64_t i) const {
    const int64_t group = ids[i] - 1;
    if (starts != nullptr && (i == 0 || ids[i - 1] != ids[i])) {
      starts[group] = i;
    }
    if (inverse != nullptr) {
      inverse[order == nullptr ? i : order[i]] = group;
    }
  }
};

struct GroupCounts {
  int64_t* out;
  const int64_t* starts;
  int64_t groups;
  int64_t n;

  __host__ __device__ void operator()(int64_t g) const {
    out[g] = (g + 1 < groups ? starts[g + 1] : n) - starts[g];
  }
};

template <class T>
__host__ __device__ bool row_precedes(const T* a, const T* b, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    const auto x = comparable(a[c]);
    const auto y = comparable(b[c]);
    if (precedes(x, y)) {
      return true;
    }
    if (precedes(y, x)) {
      return false;
    }
  }
  return false;
}

// Each row looks for its place in the half that it is not in.
template <class T>
struct RowMerge {
  int64_t* out;
  const int64_t* in;
  const T* data;
  int64_t n;
  int64_t columns;
  int64_t width;

  __host__ __device__ int64_t row(int64_t i) const {
    return in == nullptr ? i : in[i];
  }
  __host__ __device__ void operator()(int64_t i) const {
    const int64_t begin = i / (2 * width) * (2 * width);
    const int64_t middle = begin + width < n ? begin + width : n;
    const int64_t end = begin + 2 * width < n ? begin + 2 * width : n;
    const int64_t own = row(i);
    const T* const mine = data + own * columns;
    int64_t place = 0;
    if (i < middle) {
      const int64_t before = first_of(middle, end, [this, mine](int64_t k) {
        return !row_precedes(data + row(k) * columns, mine, columns);
      });
      place = i + (before - middle);
    } else {
      const int64_t before = first_of(begin, middle, [this, mine](int64_t k) {
        return row_precedes(mine, data + row(k) * columns, columns);
      });
      place = before + (i - middle);
    }
    out[place] = own;
  }
};

} // namespace
} // namespace torch_fl::kernels

musaError_t fl_group_starts(
    FlKernelType type,
    void* out,
    const void* data,
    const int64_t* order,
    int64_t n,
    int64_t columns,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_type(type, [&](auto typed) {
    using T = typename decltype(typed)::Type;
    return k::for_each(
        "unique",
        n,
        k::kGrain,
        k::Starts<T>{
            k::reachable<int64_t>(out),
            k::reachable<T>(data),
            k::order_of(order),
            columns},
        stream);
  });
}

musaError_t fl_groups(const FlGroups* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::for_each(
      "unique",
      v->n,
      k::kGrain,
      k::Groups{
          k::reachable<int64_t>(v->ids),
          k::order_of(v->order),
          k::places_of(v->starts),
          k::places_of(v->inverse)},
      stream);
}

musaError_t fl_group_counts(
    int64_t* out,
    const int64_t* starts,
    int64_t groups,
    int64_t n,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::for_each(
      "unique",
      groups,
      k::kGrain,
      k::GroupCounts{
          k::places_of(out),
          k::reachable<int64_t>(starts),
          groups,
          n},
      stream);
}

musaError_t
fl_row_merge(FlKernelType type, const FlRowMerge* v, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::with_type(type, [&](auto typed) {
    using T = typename decltype(typed)::Type;
    return k::for_each(
        "unique_dim",
        v->n,
        k::kGrain / 16,
        k::RowMerge<T>{
            k::places_of(v->out),
            k::order_of(v->in),
            k::reachable<T>(v->data),
            v->n,
            v->columns,
            v->width},
        stream);
  });
}
