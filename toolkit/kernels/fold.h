// SPDX-License-Identifier: Apache-2.0
// Folds: what an element counts for, and how two parts join.
#pragma once

#include "toolkit/kernels/arithmetic.h"
#include "toolkit/kernels/math.h"

#include <cstdint>

namespace musa_standin::kernels {
namespace {

template <class T>
struct Limits;
template <>
struct Limits<float> {
  static constexpr float kLow = -kInfinity;
  static constexpr float kHigh = kInfinity;
};
template <>
struct Limits<double> {
  static constexpr double kLow = -__builtin_inf();
  static constexpr double kHigh = __builtin_inf();
};
template <>
struct Limits<int64_t> {
  static constexpr int64_t kLow = INT64_MIN;
  static constexpr int64_t kHigh = INT64_MAX;
};

struct JoinSum {
  template <class T>
  static constexpr T start() {
    return T(0);
  }
  template <class T>
  static MUSA_KERNEL_FN T join(T a, T b) {
    return plus(a, b);
  }
};
struct JoinProduct {
  template <class T>
  static constexpr T start() {
    return T(1);
  }
  template <class T>
  static MUSA_KERNEL_FN T join(T a, T b) {
    return times(a, b);
  }
};

struct FoldSum : JoinSum {
  template <class T>
  static MUSA_KERNEL_FN T of(T x, T /*order*/) {
    return x;
  }
};
struct FoldSumAbs : JoinSum {
  template <class T>
  static MUSA_KERNEL_FN T of(T x, T /*order*/) {
    return absolute(x);
  }
};
struct FoldSumSquare : JoinSum {
  template <class T>
  static MUSA_KERNEL_FN T of(T x, T /*order*/) {
    return times(x, x);
  }
};
struct FoldSumPower : JoinSum {
  template <class T>
  static MUSA_KERNEL_FN T of(T x, T order) {
    return power(absolute(x), order);
  }
};
struct FoldProduct : JoinProduct {
  template <class T>
  static MUSA_KERNEL_FN T of(T x, T /*order*/) {
    return x;
  }
};
struct FoldProductNonzero : JoinProduct {
  template <class T>
  static MUSA_KERNEL_FN T of(T x, T /*order*/) {
    return x == T(0) ? T(1) : x;
  }
};
// A NaN wins.
struct FoldMax {
  template <class T>
  static constexpr T start() {
    return Limits<T>::kLow;
  }
  template <class T>
  static MUSA_KERNEL_FN T of(T x, T /*order*/) {
    return x;
  }
  template <class T>
  static MUSA_KERNEL_FN T join(T a, T b) {
    return larger(a, b);
  }
};
struct FoldMin {
  template <class T>
  static constexpr T start() {
    return Limits<T>::kHigh;
  }
  template <class T>
  static MUSA_KERNEL_FN T of(T x, T /*order*/) {
    return x;
  }
  template <class T>
  static MUSA_KERNEL_FN T join(T a, T b) {
    return smaller(a, b);
  }
};
struct FoldAnd {
  template <class T>
  static constexpr T start() {
    return T(1);
  }
  template <class T>
  static MUSA_KERNEL_FN T of(T x, T /*order*/) {
    return static_cast<T>(x != T(0));
  }
  template <class T>
  static MUSA_KERNEL_FN T join(T a, T b) {
    return a & b;
  }
};
struct FoldOr {
  template <class T>
  static constexpr T start() {
    return T(0);
  }
  template <class T>
  static MUSA_KERNEL_FN T of(T x, T /*order*/) {
    return static_cast<T>(x != T(0));
  }
  template <class T>
  static MUSA_KERNEL_FN T join(T a, T b) {
    return a | b;
  }
};

} // namespace
} // namespace musa_standin::kernels
