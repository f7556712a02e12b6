// SPDX-License-Identifier: Apache-2.0
// Mean and squared deviations of a part of the elements; device code.
#pragma once

#include <cstdint>

namespace musa_standin::engine::cuda {

// A few units in the last place are enough here.
__device__ inline float quotient(float a, float b) {
  return __fdividef(a, b);
}
__device__ inline double quotient(double a, double b) {
  return a / b;
}

template <class C>
struct Moments {
  C mean;
  C squares; // sum of squared deviations from the mean
  int64_t count;
};

// Chan's formula.
template <class C>
__device__ inline Moments<C> join_moments(
    const Moments<C>& a,
    const Moments<C>& b) {
  if (a.count == 0 || b.count == 0)
    return a.count == 0 ? b : a;
  const int64_t count = a.count + b.count;
  const C delta = b.mean - a.mean;
  const C share = quotient(static_cast<C>(b.count), static_cast<C>(count));
  return {
      a.mean + delta * share,
      a.squares + b.squares + delta * delta * share * static_cast<C>(a.count),
      count};
}

// V elements more.
template <int V, class C>
__device__ inline void take_moments(Moments<C>& m, const C (&v)[V]) {
  C sum = v[0];
#pragma unroll
  for (int i = 1; i < V; ++i)
    sum += v[i];
  const C mean = sum * (C(1) / C(V));
  C squares = 0;
#pragma unroll
  for (int i = 0; i < V; ++i)
    squares += (v[i] - mean) * (v[i] - mean);
  const C delta = mean - m.mean;
  const C before = static_cast<C>(m.count);
  m.count += V;
  const C share = quotient(C(V), static_cast<C>(m.count));
  m.mean += delta * share;
  m.squares += squares + delta * delta * share * before;
}

// One element more for each of V states that have seen as many.
template <int V, class C>
__device__ inline void side_moments(Moments<C> (&m)[V], const C (&v)[V]) {
  const int64_t count = m[0].count + 1;
  const C share = quotient(C(1), static_cast<C>(count));
#pragma unroll
  for (int i = 0; i < V; ++i) {
    const C delta = v[i] - m[i].mean;
    m[i].mean += delta * share;
    m[i].squares += delta * (v[i] - m[i].mean);
    m[i].count = count;
  }
}

} // namespace musa_standin::engine::cuda
