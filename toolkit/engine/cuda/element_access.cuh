// SPDX-License-Identifier: Apache-2.0
// How elementwise kernels read and write their operands: of a type known when
// the kernel is compiled, or one of a set that is chosen when it runs.
#pragma once

#include "toolkit/engine/cuda/elementwise.h"
#include "toolkit/engine/cuda/raw.cuh"
#include "toolkit/engine/dnn_types.h"

#include "toolkit/kernels/convert.h"

#include <cstdint>

namespace musa_standin::engine::cuda {
namespace {

template <class C>
struct Group {
  C v[kGroup];
};
using GroupOffsets = uint32_t[kGroup];

template <class C, class E>
__device__ Group<C>
load_group(const char* from, const GroupOffsets& at, bool vector) {
  E e[kGroup];
  if (vector) {
    const auto raw = load_raw<sizeof(E) * kGroup>(from + at[0]);
    for (int k = 0; k < kGroup; ++k)
      e[k] = element<E>(raw, k);
  } else {
    for (int k = 0; k < kGroup; ++k)
      e[k] = load_element<E>(from + at[k]);
  }
  Group<C> result;
  for (int k = 0; k < kGroup; ++k)
    result.v[k] = kernels::Widen<C, E>::of(e[k]);
  return result;
}

// The first `count` of them.
template <class E, class C>
__device__ void store_group(
    char* to,
    const GroupOffsets& at,
    bool vector,
    int count,
    const Group<C>& values) {
  if (vector) {
    Raw<sizeof(E) * kGroup> raw{};
    for (int k = 0; k < kGroup; ++k)
      set_element(raw, k, kernels::Narrow<E, C>::of(values.v[k]));
    store_raw(to + at[0], raw);
    return;
  }
  for (int k = 0; k < kGroup; ++k) {
    const E e = kernels::Narrow<E, C>::of(values.v[k]);
    if (k < count)
      store_element(to + at[k], e);
  }
}

// Elements of one type.
template <class C, class E>
struct Fixed {
  using Value = C;
  using Element = E;
  static __device__ C widen(E e) { return kernels::Widen<C, E>::of(e); }
  static __device__ E narrow(C c) { return kernels::Narrow<E, C>::of(c); }
  static __device__ Group<C> load(
      uint8_t /*type*/,
      const char* from,
      const GroupOffsets& at,
      bool vector) {
    return load_group<C, E>(from, at, vector);
  }
  static __device__ void store(
      uint8_t /*type*/,
      char* to,
      const GroupOffsets& at,
      bool vector,
      int count,
      const Group<C>& values) {
    store_group<E, C>(to, at, vector, count, values);
  }
};

template <class E>
struct ElementTag {
  using Element = E;
};
enum class TypeSet { kReal, kWhole, kAll };

// f(ElementTag<E>{}) for the type's E, if the set has it.
template <TypeSet Set, class F>
__device__ void with_element(uint8_t type, F&& f) {
  if constexpr (Set != TypeSet::kWhole) {
    switch (static_cast<Dtype>(type)) {
    case Dtype::kFloat:
      return f(ElementTag<float>{});
    case Dtype::kHalf:
      return f(ElementTag<kernels::Half>{});
    case Dtype::kBfloat16:
      return f(ElementTag<kernels::Bfloat16>{});
    case Dtype::kDouble:
      return f(ElementTag<double>{});
    default:
      break;
    }
  }
  if constexpr (Set != TypeSet::kReal) {
    switch (static_cast<Dtype>(type)) {
    case Dtype::kInt8:
      return f(ElementTag<int8_t>{});
    case Dtype::kInt16:
      return f(ElementTag<int16_t>{});
    case Dtype::kInt32:
      return f(ElementTag<int32_t>{});
    case Dtype::kInt64:
      return f(ElementTag<int64_t>{});
    case Dtype::kUint8:
      return f(ElementTag<uint8_t>{});
    case Dtype::kUint16:
      return f(ElementTag<uint16_t>{});
    case Dtype::kUint32:
      return f(ElementTag<uint32_t>{});
    case Dtype::kUint64:
      return f(ElementTag<uint64_t>{});
    case Dtype::kBool:
      return f(ElementTag<kernels::Bool>{});
    default:
      break;
    }
  }
}

// Elements of a type that the arguments name: all threads take one branch.
template <class C, TypeSet Set>
struct Any {
  using Value = C;
  static __device__ Group<C>
  load(uint8_t type, const char* from, const GroupOffsets& at, bool vector) {
    Group<C> result;
    with_element<Set>(type, [&](auto tag) {
      result = load_group<C, typename decltype(tag)::Element>(from, at, vector);
    });
    return result;
  }
  static __device__ void store(
      uint8_t type,
      char* to,
      const GroupOffsets& at,
      bool vector,
      int count,
      const Group<C>& values) {
    with_element<Set>(type, [&](auto tag) {
      store_group<typename decltype(tag)::Element, C>(
          to,
          at,
          vector,
          count,
          values);
    });
  }
};

} // namespace
} // namespace musa_standin::engine::cuda
