// SPDX-License-Identifier: Apache-2.0
// Functors of one operand and two parameters.
#pragma once

#include "toolkit/kernels/arithmetic.h"
#include "toolkit/kernels/math.h"

#include <cstdint>

namespace musa_standin::kernels {
namespace {

// f(x, alpha, beta); T is float, double, int64_t or uint8_t as the mode allows.
#define MUSA_UNARY_FUNCTOR(Name, expression)                     \
  struct Name {                                                  \
    template <class T>                                           \
    static MUSA_KERNEL_FN T                                      \
    of(T x, [[maybe_unused]] T alpha, [[maybe_unused]] T beta) { \
      return expression;                                         \
    }                                                            \
  }
// The same with a truth value.
#define MUSA_UNARY_TEST(Name, expression)                        \
  struct Name {                                                  \
    template <class T>                                           \
    static MUSA_KERNEL_FN uint8_t                                \
    of(T x, [[maybe_unused]] T alpha, [[maybe_unused]] T beta) { \
      return static_cast<uint8_t>(expression);                   \
    }                                                            \
  }

MUSA_UNARY_FUNCTOR(UnaryAdd, plus(x, alpha));
MUSA_UNARY_FUNCTOR(UnarySub, minus(x, alpha));
MUSA_UNARY_FUNCTOR(UnaryMul, times(x, alpha));
MUSA_UNARY_FUNCTOR(UnaryDiv, divide(x, alpha));
MUSA_UNARY_FUNCTOR(UnaryFloorDiv, floor_div(x, alpha));
MUSA_UNARY_FUNCTOR(UnaryTruncDiv, truncated_div(x, alpha));
MUSA_UNARY_FUNCTOR(UnaryFloorMod, floor_mod(x, alpha));
MUSA_UNARY_FUNCTOR(UnaryTruncMod, truncated_mod(x, alpha));
MUSA_UNARY_FUNCTOR(UnarySubBy, minus(alpha, x));
MUSA_UNARY_FUNCTOR(UnaryDivBy, divide(alpha, x));
MUSA_UNARY_FUNCTOR(UnaryFloorDivBy, floor_div(alpha, x));
MUSA_UNARY_FUNCTOR(UnaryTruncDivBy, truncated_div(alpha, x));
MUSA_UNARY_FUNCTOR(UnaryPow, power(x, alpha));
// Powers with short forms, which are also exact where the general one is not.
MUSA_UNARY_FUNCTOR(UnaryCube, x* x* x);
MUSA_UNARY_FUNCTOR(UnaryReciprocalSquare, T(1) / (x * x));
MUSA_UNARY_FUNCTOR(UnaryMax, larger(x, alpha));
MUSA_UNARY_FUNCTOR(UnaryMin, smaller(x, alpha));
MUSA_UNARY_FUNCTOR(UnaryAbs, absolute(x));
MUSA_UNARY_FUNCTOR(
    UnarySign,
    static_cast<T>(static_cast<int>(x > T(0)) - static_cast<int>(x < T(0))));
MUSA_UNARY_FUNCTOR(UnarySqrt, root_of(x));
MUSA_UNARY_FUNCTOR(UnaryRsqrt, T(1) / root_of(x));
MUSA_UNARY_FUNCTOR(UnarySquare, times(x, x));
MUSA_UNARY_FUNCTOR(UnaryReciprocal, T(1) / x);
MUSA_UNARY_FUNCTOR(UnaryExp, exp(x));
MUSA_UNARY_FUNCTOR(UnaryLog, log(x));
MUSA_UNARY_FUNCTOR(UnaryLog2, log2(x));
MUSA_UNARY_FUNCTOR(UnaryLog10, log10(x));
MUSA_UNARY_FUNCTOR(UnaryLog1p, log1p(x));
MUSA_UNARY_FUNCTOR(UnarySin, sin(x));
MUSA_UNARY_FUNCTOR(UnaryCos, cos(x));
MUSA_UNARY_FUNCTOR(UnaryTan, tan_of(x));
MUSA_UNARY_FUNCTOR(UnaryAcos, acos_of(x));
MUSA_UNARY_FUNCTOR(UnaryAtan, atan_of(x));
MUSA_UNARY_FUNCTOR(UnaryTanh, tanh(x));
MUSA_UNARY_FUNCTOR(UnaryErf, erf(x));
MUSA_UNARY_FUNCTOR(UnaryCeil, ceil_of(x));
MUSA_UNARY_FUNCTOR(UnaryFloor, floor_of(x));
MUSA_UNARY_FUNCTOR(UnaryRound, round_of(x));
MUSA_UNARY_FUNCTOR(UnarySigmoid, sigmoid(x));
MUSA_UNARY_FUNCTOR(UnaryRelu, x < T(0) ? T(0) : x);
MUSA_UNARY_FUNCTOR(UnaryRelu6, clip(x, T(0), T(6)));
MUSA_UNARY_FUNCTOR(UnarySilu, x / (T(1) + exp(-x)));
MUSA_UNARY_FUNCTOR(UnaryMish, mish(x));
MUSA_UNARY_FUNCTOR(
    UnaryHardSwish,
    x* clip(x + T(3), T(0), T(6)) * T(1.0 / 6.0));
MUSA_UNARY_FUNCTOR(UnaryHardSigmoid, clip(x* alpha + beta, T(0), T(1)));
MUSA_UNARY_FUNCTOR(UnaryLeakyRelu, x < T(0) ? x * alpha : x);
MUSA_UNARY_FUNCTOR(UnaryElu, choose(x > T(0), x, alpha* expm1(x)));
MUSA_UNARY_FUNCTOR(
    UnarySoftplus,
    choose(x* alpha > beta, x, log1p(exp(x* alpha)) / alpha));
MUSA_UNARY_FUNCTOR(UnaryClip, clip(x, alpha, beta));
MUSA_UNARY_FUNCTOR(
    UnaryGelu,
    x* T(0.5) * (T(1) + erf(x * T(0.70710678118654752))));
MUSA_UNARY_FUNCTOR(UnaryGeluTanh, x* T(0.5) * (T(1) + tanh(gelu_inner(x))));
MUSA_UNARY_FUNCTOR(UnaryIdentity, x);

// Of float, for quotients below kNearQuotient.
MUSA_UNARY_FUNCTOR(NearFloorDiv, floor_div_from(x, alpha, near_mod(x, alpha)));
MUSA_UNARY_FUNCTOR(
    NearFloorDivBy,
    floor_div_from(alpha, x, near_mod(alpha, x)));
MUSA_UNARY_FUNCTOR(NearFloorMod, floor_mod_from(alpha, near_mod(x, alpha)));
MUSA_UNARY_FUNCTOR(NearTruncMod, near_mod(x, alpha));
// Which elements those are not for.
MUSA_UNARY_TEST(FarQuotient, far_quotient(x, alpha));
MUSA_UNARY_TEST(FarQuotientBy, far_quotient(alpha, x));
MUSA_UNARY_TEST(FarAngle, !(absolute(x) <= T(kTrigLimit)));

MUSA_UNARY_TEST(UnaryEq, x == alpha);
MUSA_UNARY_TEST(UnaryNe, x != alpha);
MUSA_UNARY_TEST(UnaryLt, x < alpha);
MUSA_UNARY_TEST(UnaryLe, x <= alpha);
MUSA_UNARY_TEST(UnaryGt, x > alpha);
MUSA_UNARY_TEST(UnaryGe, x >= alpha);
MUSA_UNARY_TEST(UnaryIsNan, is_nan(x));
MUSA_UNARY_TEST(UnaryIsInf, absolute(x) == T(kInfinity));
MUSA_UNARY_TEST(UnaryIsFinite, absolute(x) < T(kInfinity));
// Of truth values.
MUSA_UNARY_TEST(UnaryAnd, (x & alpha) != 0);
MUSA_UNARY_TEST(UnaryOr, (x | alpha) != 0);
MUSA_UNARY_TEST(UnaryXor, (x ^ alpha) != 0);

#undef MUSA_UNARY_FUNCTOR
#undef MUSA_UNARY_TEST

} // namespace
} // namespace musa_standin::kernels
