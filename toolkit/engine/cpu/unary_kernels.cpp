// SPDX-License-Identifier: Apache-2.0
// Loops of one operand; compiled once per instruction set.
#include "toolkit/engine/cpu/elementwise_loops.h"
#include "toolkit/engine/dnn_types.h"

#include "toolkit/kernels/unary.h"

namespace musa_standin::engine::cpu {
namespace {

namespace fn = kernels;

using M = UnaryMode;

struct One {
  template <class Op, class T, class R>
  static void
  map(void* out, const void* const* in, int64_t n, const Params& params) {
    R* o = static_cast<R*>(out);
    const T* x = static_cast<const T*>(in[0]);
    const T alpha = parameter<T>(params, 0);
    const T beta = parameter<T>(params, 1);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      o[i] = Op::template of<T>(x[i], alpha, beta);
  }
};

// Near is vectorised but not for all arguments; Far tells which, and a block
// that has one takes Any.
template <class Near, class Far, float (*Any)(float, float)>
void map_near(
    void* out,
    const void* const* in,
    int64_t n,
    const Params& params) {
  float* o = static_cast<float*>(out);
  const float* x = static_cast<const float*>(in[0]);
  const float alpha = parameter<float>(params, 0);
  by_pieces(
      n,
      [&](int64_t i) { return Far::of(x[i], alpha, 0.0F); },
      [&](int64_t at, int64_t count) {
        const void* from = x + at;
        One::map<Near, float, float>(o + at, &from, count, params);
      },
      [&](int64_t at, int64_t count) {
        for (int64_t i = at; i < at + count; ++i)
          o[i] = Any(x[i], alpha);
      });
}
float any_sin(float x, float /*alpha*/) {
  return __builtin_sinf(x);
}
float any_cos(float x, float /*alpha*/) {
  return __builtin_cosf(x);
}
float any_tan(float x, float /*alpha*/) {
  return __builtin_tanf(x);
}
float any_floor_div(float x, float alpha) {
  return kernels::floor_div(x, alpha);
}
float any_floor_div_by(float x, float alpha) {
  return kernels::floor_div(alpha, x);
}
float any_floor_mod(float x, float alpha) {
  return kernels::floor_mod(x, alpha);
}
float any_trunc_mod(float x, float alpha) {
  return kernels::truncated_mod(x, alpha);
}

template <class T>
void map_pow(
    void* out,
    const void* const* in,
    int64_t n,
    const Params& params) {
  const double alpha = params.real[0];
  if (alpha == 2)
    return One::map<fn::UnarySquare, T, T>(out, in, n, params);
  if (alpha == 3)
    return One::map<kernels::UnaryCube, T, T>(out, in, n, params);
  if (alpha == 0.5)
    return One::map<fn::UnarySqrt, T, T>(out, in, n, params);
  if (alpha == -0.5)
    return One::map<fn::UnaryRsqrt, T, T>(out, in, n, params);
  if (alpha == -1)
    return One::map<fn::UnaryReciprocal, T, T>(out, in, n, params);
  if (alpha == -2)
    return One::map<kernels::UnaryReciprocalSquare, T, T>(out, in, n, params);
  One::map<fn::UnaryPow, T, T>(out, in, n, params);
}

struct UnaryBuilder : Builder<UnaryKernels, M, One> {
  constexpr void arithmetic() {
    number<fn::UnaryAdd>(M::kAdd);
    number<fn::UnarySub>(M::kSub);
    number<fn::UnaryMul>(M::kMul);
    number<fn::UnaryDiv>(M::kDiv);
    real<fn::UnaryDiv>(M::kTrueDiv);
    number<fn::UnaryFloorDiv>(M::kFloorDiv);
    number<fn::UnaryTruncDiv>(M::kTruncDiv);
    number<fn::UnaryFloorMod>(M::kFloorMod);
    number<fn::UnaryTruncMod>(M::kTruncMod);
    number<fn::UnarySubBy>(M::kSubByAlpha);
    number<fn::UnaryDivBy>(M::kDivByAlpha);
    real<fn::UnaryDivBy>(M::kTrueDivByAlpha);
    number<fn::UnaryFloorDivBy>(M::kFloorDivByAlpha);
    number<fn::UnaryTruncDivBy>(M::kTruncDivByAlpha);
    number<fn::UnaryPow>(M::kPow);
    put(kF32, M::kPow, map_pow<float>);
    put(kF64, M::kPow, map_pow<double>);
    put(kF32,
        M::kFloorDiv,
        map_near<fn::NearFloorDiv, fn::FarQuotient, any_floor_div>);
    put(kF32,
        M::kFloorDivByAlpha,
        map_near<fn::NearFloorDivBy, fn::FarQuotientBy, any_floor_div_by>);
    put(kF32,
        M::kFloorMod,
        map_near<fn::NearFloorMod, fn::FarQuotient, any_floor_mod>);
    put(kF32,
        M::kTruncMod,
        map_near<fn::NearTruncMod, fn::FarQuotient, any_trunc_mod>);
    number<fn::UnaryMax>(M::kMax);
    number<fn::UnaryMin>(M::kMin);
    number<fn::UnaryAbs>(M::kAbs);
    number<fn::UnarySign>(M::kSign);
    number<fn::UnarySquare>(M::kSquare);
    number<fn::UnaryRelu>(M::kRelu);
    number<fn::UnaryRelu6>(M::kRelu6);
    number<fn::UnaryClip>(M::kClip);
    number<fn::UnaryIdentity>(M::kIdentity);
    number<fn::UnaryIdentity>(M::kCast);
    truth<fn::UnaryIdentity>(M::kIdentity);
    truth<fn::UnaryIdentity>(M::kIsNonzero);
  }
  constexpr void tests() {
    test<fn::UnaryEq>(M::kEq);
    test<fn::UnaryNe>(M::kNe);
    test<fn::UnaryLt>(M::kLt);
    test<fn::UnaryLe>(M::kLe);
    test<fn::UnaryGt>(M::kGt);
    test<fn::UnaryGe>(M::kGe);
    real_test<fn::UnaryIsNan>(M::kIsNan);
    real_test<fn::UnaryIsInf>(M::kIsInf);
    real_test<fn::UnaryIsFinite>(M::kIsFinite);
    truth<fn::UnaryAnd>(M::kLogicalAnd);
    truth<fn::UnaryOr>(M::kLogicalOr);
    truth<fn::UnaryXor>(M::kLogicalXor);
  }
  constexpr void functions() {
    real<fn::UnarySqrt>(M::kSqrt);
    real<fn::UnaryRsqrt>(M::kRsqrt);
    real<fn::UnaryReciprocal>(M::kReciprocal);
    real<fn::UnaryExp>(M::kExp);
    real<fn::UnaryLog>(M::kLog);
    real<fn::UnaryLog2>(M::kLog2);
    real<fn::UnaryLog10>(M::kLog10);
    real<fn::UnaryLog1p>(M::kLog1p);
    real<fn::UnarySin>(M::kSin);
    real<fn::UnaryCos>(M::kCos);
    put(kF32, M::kSin, map_near<fn::UnarySin, fn::FarAngle, any_sin>);
    put(kF32, M::kCos, map_near<fn::UnaryCos, fn::FarAngle, any_cos>);
    real<fn::UnaryTan>(M::kTan);
    put(kF32, M::kTan, map_near<fn::UnaryTan, fn::FarAngle, any_tan>);
    real<fn::UnaryAcos>(M::kAcos);
    real<fn::UnaryAtan>(M::kAtan);
    real<fn::UnaryTanh>(M::kTanh);
    real<fn::UnaryErf>(M::kErf);
    real<fn::UnaryCeil>(M::kCeil);
    real<fn::UnaryFloor>(M::kFloor);
    real<fn::UnaryRound>(M::kRound);
  }
  constexpr void activations() {
    real<fn::UnarySigmoid>(M::kSigmoid);
    real<fn::UnarySilu>(M::kSilu);
    real<fn::UnarySilu>(M::kSwish);
    real<fn::UnaryMish>(M::kMish);
    real<fn::UnaryHardSwish>(M::kHardSwish);
    real<fn::UnaryHardSigmoid>(M::kHardSigmoid);
    real<fn::UnaryLeakyRelu>(M::kLeakyRelu);
    real<fn::UnaryElu>(M::kElu);
    real<fn::UnarySoftplus>(M::kSoftplus);
    real<fn::UnaryGelu>(M::kGelu);
    real<fn::UnaryGeluTanh>(M::kGeluTanh);
  }
};

constexpr UnaryKernels build() {
  UnaryBuilder b;
  b.arithmetic();
  b.tests();
  b.functions();
  b.activations();
  return b.table;
}

} // namespace

extern const UnaryKernels MUSA_ISA_TABLE(kUnaryKernels);
constexpr UnaryKernels MUSA_ISA_TABLE(kUnaryKernels) = build();

} // namespace musa_standin::engine::cpu
