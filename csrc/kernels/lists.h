// SPDX-License-Identifier: Apache-2.0
// One launch for many tensors: their elements in one line, each with its row of
// pointers.
#pragma once

#include "csrc/kernels/launch.h"
#include "csrc/kernels/operands.h"

namespace torch_fl::kernels {

constexpr int64_t kListGrain = 16384;

// F: row(lists, t) gives what the elements of tensor t share (pointers, and
// numbers read once), f(row, i) does element i.
template <class F>
struct ListLoop {
  int32_t count;
  int64_t end[kFlListTensors];
  F f;

  __host__ __device__ void operator()(int64_t i) const {
    int t = 0;
    while (i >= end[t]) {
      ++t;
    }
    f(f.row(t), i - (t == 0 ? 0 : end[t - 1]));
  }

  // The same for [first, last) on a host: one plain loop a tensor.
  __forceinline__ void range(int64_t first, int64_t last) const {
    int64_t begin = 0;
    for (int t = 0; t < count && begin < last; ++t) {
      const int64_t from = first > begin ? first : begin;
      const int64_t to = last < end[t] ? last : end[t];
      if (from < to) {
        const auto row = f.row(t);
        for (int64_t i = from - begin; i < to - begin; ++i) {
          f(row, i);
        }
      }
      begin = end[t];
    }
  }
};

template <class F>
musaError_t for_each_of(
    const char* name,
    const FlTensors& lists,
    const F& f,
    musaStream_t stream) {
  ListLoop<F> loop{};
  loop.count = lists.count;
  loop.f = f;
  int64_t total = 0;
  for (int t = 0; t < lists.count; ++t) {
    total += lists.numel[t];
    loop.end[t] = total;
  }
  return for_each(name, total, kListGrain, loop, stream);
}

// List `which` as addresses that a kernel may dereference.
template <class T>
struct List {
  T* at[kFlListTensors];

  static List of(const FlTensors& lists, int which) {
    List list{};
    for (int t = 0; t < lists.count; ++t) {
      list.at[t] = reachable<T>(lists.address[which][t]);
    }
    return list;
  }
};

} // namespace torch_fl::kernels
