// SPDX-License-Identifier: Apache-2.0
// Conversions between element types and the types that modes compute in.
#pragma once

#include "toolkit/kernels/scalar_types.h"

#include <cstdint>

namespace musa_standin::kernels {
namespace {

// An element as float, double, int64_t or truth value.
template <class C, class E>
struct Widen {
  static MUSA_KERNEL_FN C of(E e) { return static_cast<C>(e); }
};
template <class C>
struct Widen<C, Half> {
  static MUSA_KERNEL_FN C of(Half e) { return static_cast<C>(to_float(e)); }
};
template <class C>
struct Widen<C, Bfloat16> {
  static MUSA_KERNEL_FN C of(Bfloat16 e) { return static_cast<C>(to_float(e)); }
};
template <class C>
struct Widen<C, Bool> {
  static MUSA_KERNEL_FN C of(Bool e) {
    return static_cast<C>(static_cast<uint8_t>(e.bits != 0));
  }
};
template <class E>
struct Widen<uint8_t, E> {
  static MUSA_KERNEL_FN uint8_t of(E e) {
    return static_cast<uint8_t>(e != E(0));
  }
};
template <>
struct Widen<uint8_t, Half> {
  static MUSA_KERNEL_FN uint8_t of(Half e) {
    return static_cast<uint8_t>((e.bits & 0x7FFF) != 0);
  }
};
template <>
struct Widen<uint8_t, Bfloat16> {
  static MUSA_KERNEL_FN uint8_t of(Bfloat16 e) {
    return static_cast<uint8_t>((e.bits & 0x7FFF) != 0);
  }
};
template <>
struct Widen<uint8_t, Bool> {
  static MUSA_KERNEL_FN uint8_t of(Bool e) {
    return static_cast<uint8_t>(e.bits != 0);
  }
};

// And back. Floating values outside an integer's range give the low bits of
// a wider integer, as a plain conversion on x86 does.
template <class E, class C>
struct Narrow {
  static MUSA_KERNEL_FN E of(C c) { return static_cast<E>(c); }
};
template <class I, class C>
MUSA_KERNEL_FN I whole_part(C c) {
#if defined(__CUDA_ARCH__)
  // Devices give the nearest integer instead of the smallest.
  constexpr I kLowest = I(1) << (8 * sizeof(I) - 1);
  constexpr C kEdge = C(kLowest);
  return c >= kEdge && c < -kEdge ? static_cast<I>(c) : kLowest;
#else
  return static_cast<I>(c);
#endif
}
template <class E>
struct NarrowReal {
  template <class C>
  static MUSA_KERNEL_FN E of(C c) {
    if constexpr (sizeof(E) < 4) {
      return static_cast<E>(whole_part<int32_t>(c));
    } else if constexpr (E(-1) > E(0)) {
      return static_cast<E>(whole_part<int64_t>(c));
    } else {
      return whole_part<E>(c);
    }
  }
};
#define MUSA_NARROW_REAL(E)                   \
  template <>                                 \
  struct Narrow<E, float> : NarrowReal<E> {}; \
  template <>                                 \
  struct Narrow<E, double> : NarrowReal<E> {}
MUSA_NARROW_REAL(int8_t);
MUSA_NARROW_REAL(int16_t);
MUSA_NARROW_REAL(int32_t);
MUSA_NARROW_REAL(int64_t);
MUSA_NARROW_REAL(uint8_t);
MUSA_NARROW_REAL(uint16_t);
MUSA_NARROW_REAL(uint32_t);
MUSA_NARROW_REAL(uint64_t);
#undef MUSA_NARROW_REAL
template <class C>
struct Narrow<Half, C> {
  static MUSA_KERNEL_FN Half of(C c) { return to_half(static_cast<float>(c)); }
};
template <class C>
struct Narrow<Bfloat16, C> {
  static MUSA_KERNEL_FN Bfloat16 of(C c) {
    return to_bfloat16(static_cast<float>(c));
  }
};
template <class C>
struct Narrow<Bool, C> {
  static MUSA_KERNEL_FN Bool of(C c) {
    return {static_cast<uint8_t>(c != C(0))};
  }
};

} // namespace
} // namespace musa_standin::kernels
