// SPDX-License-Identifier: Apache-2.0
// Loops of two and three operands; compiled once per instruction set.
#include "toolkit/engine/cpu/elementwise_loops.h"
#include "toolkit/engine/dnn_types.h"

#include "toolkit/kernels/binary.h"

namespace musa_standin::engine::cpu {
namespace {

namespace fn = kernels;

using M = BinaryMode;

struct Two {
  template <class Op, class T, class R>
  static void
  map(void* out, const void* const* in, int64_t n, const Params& params) {
    R* o = static_cast<R*>(out);
    const T* a = static_cast<const T*>(in[0]);
    const T* b = static_cast<const T*>(in[1]);
    const T alpha = parameter<T>(params, 0);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      o[i] = Op::template of<T>(a[i], b[i], alpha);
  }
};

struct Three {
  template <class Op, class T, class R>
  static void
  map(void* out, const void* const* in, int64_t n, const Params& params) {
    R* o = static_cast<R*>(out);
    const T* a = static_cast<const T*>(in[0]);
    const T* b = static_cast<const T*>(in[1]);
    const T* c = static_cast<const T*>(in[2]);
    const T alpha = parameter<T>(params, 0);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      o[i] = Op::template of<T>(a[i], b[i], c[i], alpha);
  }
};

// Near is vectorised but not for all quotients.
template <class Near, class Op>
void map_near(
    void* out,
    const void* const* in,
    int64_t n,
    const Params& params) {
  float* o = static_cast<float*>(out);
  const float* a = static_cast<const float*>(in[0]);
  const float* b = static_cast<const float*>(in[1]);
  by_pieces(
      n,
      [&](int64_t i) { return fn::FarQuotient::of(a[i], b[i], 0.0F); },
      [&](int64_t at, int64_t count) {
        const void* from[] = {a + at, b + at};
        Two::map<Near, float, float>(o + at, from, count, params);
      },
      [&](int64_t at, int64_t count) {
        const void* from[] = {a + at, b + at};
        Two::map<Op, float, float>(o + at, from, count, params);
      });
}

template <class T>
void select(
    void* out,
    const void* const* in,
    int64_t n,
    const Params& /*params*/) {
  T* o = static_cast<T*>(out);
  const uint8_t* condition = static_cast<const uint8_t*>(in[0]);
  const T* a = static_cast<const T*>(in[1]);
  const T* b = static_cast<const T*>(in[2]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T x = a[i];
    const T y = b[i];
    o[i] = condition[i] != 0 ? x : y;
  }
}

struct BinaryBuilder : Builder<BinaryKernels, M, Two> {
  constexpr void arithmetic() {
    number<fn::BinaryAdd>(M::kAdd);
    number<fn::BinarySub>(M::kSub);
    number<fn::BinaryMul>(M::kMul);
    number<fn::BinaryMax>(M::kMax);
    number<fn::BinaryMin>(M::kMin);
    number<fn::BinaryAddAlpha>(M::kAddAlpha);
    number<fn::BinarySubAlpha>(M::kSubAlpha);
    number<fn::BinaryDiv>(M::kDiv);
    real<fn::BinaryDiv>(M::kTrueDiv);
    number<fn::BinaryFloorDiv>(M::kFloorDiv);
    number<fn::BinaryTruncDiv>(M::kTruncDiv);
    number<fn::BinaryFloorMod>(M::kFloorMod);
    number<fn::BinaryTruncMod>(M::kTruncMod);
    put(kF32, M::kFloorDiv, map_near<fn::NearFloorDiv, fn::BinaryFloorDiv>);
    put(kF32, M::kFloorMod, map_near<fn::NearFloorMod, fn::BinaryFloorMod>);
    put(kF32, M::kTruncMod, map_near<fn::NearTruncMod, fn::BinaryTruncMod>);
    real<fn::BinaryDivNoNan>(M::kDivNoNan);
    real<fn::BinaryPow>(M::kPow);
    number<fn::BinarySquaredDiff>(M::kSquaredDiff);
    real<fn::BinaryPrelu>(M::kPrelu);
  }
  constexpr void tests() {
    test<fn::BinaryEq>(M::kEq);
    test<fn::BinaryNe>(M::kNe);
    test<fn::BinaryLt>(M::kLt);
    test<fn::BinaryLe>(M::kLe);
    test<fn::BinaryGt>(M::kGt);
    test<fn::BinaryGe>(M::kGe);
    truth<fn::BinaryAnd>(M::kLogicalAnd);
    truth<fn::BinaryOr>(M::kLogicalOr);
    truth<fn::BinaryXor>(M::kLogicalXor);
  }
  constexpr void gradients() {
    real<fn::BinarySigmoidBw>(M::kSigmoidBw);
    real<fn::BinaryTanhBw>(M::kTanhBw);
    real<fn::BinarySiluBw>(M::kSiluBw);
    real<fn::BinaryGeluBw>(M::kGeluBw);
    real<fn::BinaryGeluTanhBw>(M::kGeluTanhBw);
    number<fn::BinaryThresholdBw>(M::kThresholdBw);
    real<fn::BinaryLeakyReluBw>(M::kLeakyReluBw);
    real<fn::BinaryRelu6Bw>(M::kRelu6Bw);
    real<fn::BinaryRsqrtBw>(M::kRsqrtBw);
  }
};

constexpr BinaryKernels build() {
  BinaryBuilder b;
  b.arithmetic();
  b.tests();
  b.gradients();
  return b.table;
}

constexpr TernaryKernels build_ternary() {
  Builder<TernaryKernels, TernaryMode, Three> b;
  b.number<fn::TernaryAddcmul>(TernaryMode::kAddcmul);
  b.number<fn::TernaryAddcmul>(TernaryMode::kAddcmulAlpha);
  b.number<fn::TernaryAddcdiv>(TernaryMode::kAddcdiv);
  b.number<fn::TernaryAddcdiv>(TernaryMode::kAddcdivAlpha);
  b.number<fn::TernaryClamp>(TernaryMode::kClamp);
  TernaryKernels t = b.table;
  t.select[0] = select<uint8_t>;
  t.select[1] = select<uint16_t>;
  t.select[2] = select<uint32_t>;
  t.select[3] = select<uint64_t>;
  return t;
}

} // namespace

extern const BinaryKernels MUSA_ISA_TABLE(kBinaryKernels);
constexpr BinaryKernels MUSA_ISA_TABLE(kBinaryKernels) = build();
extern const TernaryKernels MUSA_ISA_TABLE(kTernaryKernels);
constexpr TernaryKernels MUSA_ISA_TABLE(kTernaryKernels) = build_ternary();

} // namespace musa_standin::engine::cpu
