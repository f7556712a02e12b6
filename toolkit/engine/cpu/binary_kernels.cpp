// SPDX-License-Identifier: Apache-2.0
// Loops of two and three operands; compiled once per instruction set.
#include "toolkit/engine/cpu/elementwise_kernels.h"
#include "toolkit/engine/dnn_types.h"

#include "toolkit/kernels/binary.h"

namespace musa_standin::engine::cpu {
namespace {

namespace fn = kernels;

using M = BinaryMode;

template <class T>
inline T parameter(const Params& p) {
  return static_cast<T>(p.real[0]);
}
template <>
inline int64_t parameter<int64_t>(const Params& p) {
  return p.whole[0];
}

template <class Op, class T, class R>
void map(void* out, const void* const* in, int64_t n, const Params& params) {
  R* o = static_cast<R*>(out);
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  const T alpha = parameter<T>(params);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i)
    o[i] = Op::template of<T>(a[i], b[i], alpha);
}

// Near is vectorised but not for all quotients.
template <class Near, class Op>
void map_near(
    void* out,
    const void* const* in,
    int64_t n,
    const Params& params) {
  constexpr int64_t kPiece = 512;
  const float* a = static_cast<const float*>(in[0]);
  const float* b = static_cast<const float*>(in[1]);
  for (int64_t at = 0; at < n; at += kPiece) {
    const int64_t count = n - at < kPiece ? n - at : kPiece;
    int far = 0;
    for (int64_t i = 0; i < count; ++i)
      far |= kernels::FarQuotient::of(a[at + i], b[at + i], 0.0F);
    const void* from[] = {a + at, b + at};
    float* to = static_cast<float*>(out) + at;
    if (far == 0) {
      map<Near, float, float>(to, from, count, params);
    } else {
      map<Op, float, float>(to, from, count, params);
    }
  }
}

template <class Op, class T>
void map_three(
    void* out,
    const void* const* in,
    int64_t n,
    const Params& params) {
  T* o = static_cast<T*>(out);
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  const T* c = static_cast<const T*>(in[2]);
  const T alpha = parameter<T>(params);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i)
    o[i] = Op::of(a[i], b[i], c[i], alpha);
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

struct Builder {
  BinaryKernels table{};

  constexpr void put(Compute type, M mode, MapFn fn) {
    table.map[type][static_cast<int>(mode)] = fn;
  }
  template <class Op>
  constexpr void real(M mode) {
    put(kF32, mode, map<Op, float, float>);
    put(kF64, mode, map<Op, double, double>);
  }
  template <class Op>
  constexpr void number(M mode) {
    real<Op>(mode);
    put(kI64, mode, map<Op, int64_t, int64_t>);
  }
  template <class Op>
  constexpr void test(M mode) {
    put(kF32, mode, map<Op, float, uint8_t>);
    put(kF64, mode, map<Op, double, uint8_t>);
    put(kI64, mode, map<Op, int64_t, uint8_t>);
    put(kU8, mode, map<Op, uint8_t, uint8_t>);
  }

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
    put(kU8, M::kLogicalAnd, map<fn::BinaryAnd, uint8_t, uint8_t>);
    put(kU8, M::kLogicalOr, map<fn::BinaryOr, uint8_t, uint8_t>);
    put(kU8, M::kLogicalXor, map<fn::BinaryXor, uint8_t, uint8_t>);
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
  Builder b;
  b.arithmetic();
  b.tests();
  b.gradients();
  return b.table;
}

template <class Op>
constexpr void three(TernaryKernels& table, TernaryMode mode) {
  table.map[kF32][static_cast<int>(mode)] = map_three<Op, float>;
  table.map[kF64][static_cast<int>(mode)] = map_three<Op, double>;
  table.map[kI64][static_cast<int>(mode)] = map_three<Op, int64_t>;
}

constexpr TernaryKernels build_ternary() {
  TernaryKernels t{};
  three<kernels::TernaryAddcmul>(t, TernaryMode::kAddcmul);
  three<kernels::TernaryAddcmul>(t, TernaryMode::kAddcmulAlpha);
  three<kernels::TernaryAddcdiv>(t, TernaryMode::kAddcdiv);
  three<kernels::TernaryAddcdiv>(t, TernaryMode::kAddcdivAlpha);
  three<kernels::TernaryClamp>(t, TernaryMode::kClamp);
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
