// SPDX-License-Identifier: Apache-2.0
// Functors of two and three operands and a parameter.
#pragma once

#include "toolkit/kernels/arithmetic.h"
#include "toolkit/kernels/math.h"

#include <cstdint>

namespace musa_standin::kernels {
namespace {

#define MUSA_BINARY_FUNCTOR(Name, expression)                        \
  struct Name {                                                      \
    template <class T>                                               \
    static MUSA_KERNEL_FN T of(T a, T b, [[maybe_unused]] T alpha) { \
      return expression;                                             \
    }                                                                \
  }
#define MUSA_BINARY_TEST(Name, expression)                                 \
  struct Name {                                                            \
    template <class T>                                                     \
    static MUSA_KERNEL_FN uint8_t of(T a, T b, [[maybe_unused]] T alpha) { \
      return static_cast<uint8_t>(expression);                             \
    }                                                                      \
  }

MUSA_BINARY_FUNCTOR(BinaryAdd, plus(a, b));
MUSA_BINARY_FUNCTOR(BinarySub, minus(a, b));
MUSA_BINARY_FUNCTOR(BinaryMul, times(a, b));
MUSA_BINARY_FUNCTOR(BinaryMax, larger(a, b));
MUSA_BINARY_FUNCTOR(BinaryMin, smaller(a, b));
MUSA_BINARY_FUNCTOR(BinaryAddAlpha, plus(a, times(alpha, b)));
MUSA_BINARY_FUNCTOR(BinarySubAlpha, minus(a, times(alpha, b)));
MUSA_BINARY_FUNCTOR(BinaryDiv, divide(a, b));
MUSA_BINARY_FUNCTOR(BinaryFloorDiv, floor_div(a, b));
MUSA_BINARY_FUNCTOR(BinaryTruncDiv, truncated_div(a, b));
MUSA_BINARY_FUNCTOR(BinaryFloorMod, floor_mod(a, b));
MUSA_BINARY_FUNCTOR(BinaryTruncMod, truncated_mod(a, b));
MUSA_BINARY_FUNCTOR(BinaryDivNoNan, b == T(0) ? T(0) : divide(a, b));
MUSA_BINARY_FUNCTOR(BinaryPow, power(a, b));
MUSA_BINARY_FUNCTOR(BinarySquaredDiff, times(minus(a, b), minus(a, b)));
MUSA_BINARY_FUNCTOR(BinaryPrelu, a > T(0) ? a : a * b);

// Of float, for quotients below kNearQuotient.
MUSA_BINARY_FUNCTOR(NearFloorDiv, floor_div_from(a, b, near_mod(a, b)));
MUSA_BINARY_FUNCTOR(NearFloorMod, floor_mod_from(b, near_mod(a, b)));
MUSA_BINARY_FUNCTOR(NearTruncMod, near_mod(a, b));
MUSA_BINARY_TEST(FarQuotient, far_quotient(a, b));

// Gradients: (gradient, output)…
MUSA_BINARY_FUNCTOR(BinarySigmoidBw, a*(T(1) - b) * b);
MUSA_BINARY_FUNCTOR(BinaryTanhBw, a*(T(1) - b * b));
// …(gradient, input)…
MUSA_BINARY_FUNCTOR(BinarySiluBw, silu_slope(b) * a);
MUSA_BINARY_FUNCTOR(BinaryGeluBw, gelu_slope(b) * a);
MUSA_BINARY_FUNCTOR(BinaryGeluTanhBw, gelu_tanh_slope(b) * a);
MUSA_BINARY_FUNCTOR(BinaryThresholdBw, b <= alpha ? T(0) : a);
MUSA_BINARY_FUNCTOR(BinaryLeakyReluBw, b > T(0) ? a : a * alpha);
MUSA_BINARY_FUNCTOR(BinaryRelu6Bw, b > T(0) && b < T(6) ? a : T(0));
// …and (output, gradient).
MUSA_BINARY_FUNCTOR(BinaryRsqrtBw, T(-0.5) * b * a * a * a);

MUSA_BINARY_TEST(BinaryEq, a == b);
MUSA_BINARY_TEST(BinaryNe, a != b);
MUSA_BINARY_TEST(BinaryLt, a < b);
MUSA_BINARY_TEST(BinaryLe, a <= b);
MUSA_BINARY_TEST(BinaryGt, a > b);
MUSA_BINARY_TEST(BinaryGe, a >= b);
// Of truth values.
MUSA_BINARY_TEST(BinaryAnd, (a & b) != 0);
MUSA_BINARY_TEST(BinaryOr, (a | b) != 0);
MUSA_BINARY_TEST(BinaryXor, (a ^ b) != 0);

#undef MUSA_BINARY_FUNCTOR
#undef MUSA_BINARY_TEST

struct TernaryAddcmul {
  template <class T>
  static MUSA_KERNEL_FN T of(T a, T b, T c, T alpha) {
    return plus(a, times(alpha, times(b, c)));
  }
};
struct TernaryAddcdiv {
  template <class T>
  static MUSA_KERNEL_FN T of(T a, T b, T c, T alpha) {
    return plus(a, divide(times(alpha, b), c));
  }
};
struct TernaryClamp {
  template <class T>
  static MUSA_KERNEL_FN T of(T a, T low, T high, T /*alpha*/) {
    const T y = smaller(larger(a, low), high);
    return is_nan(a) ? a : y;
  }
};

} // namespace
} // namespace musa_standin::kernels
