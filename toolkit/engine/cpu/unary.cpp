// SPDX-License-Identifier: Apache-2.0
// The CPU engine's operators of one operand.
#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/elementwise.h"

namespace musa_standin::engine::cpu {

namespace {

bool writes_bool(UnaryMode mode) {
  return mode >= UnaryMode::kEq && mode <= UnaryMode::kIsNonzero;
}

bool reads_truth(UnaryMode mode) {
  return (mode >= UnaryMode::kLogicalAnd && mode <= UnaryMode::kLogicalXor) ||
      mode == UnaryMode::kIsNonzero;
}

// The one type that both sides of a conversion go through.
Compute between(Dtype a, Dtype b) {
  if (a == Dtype::kDouble || b == Dtype::kDouble)
    return kF64;
  return is_floating(a) || is_floating(b) ? kF32 : kI64;
}

} // namespace

void CpuDnn::unary(
    engine::Stream& stream,
    UnaryMode mode,
    const View& out,
    const View& in,
    Scalar alpha,
    Scalar beta) {
  const bool moves = mode == UnaryMode::kIdentity || mode == UnaryMode::kCast;
  if (moves && out.dtype == in.dtype)
    return copy(stream, out, in);
  static const UnaryKernels& table = MUSA_ISA_PICK(kUnaryKernels);
  Compute computes[2];
  if (moves) {
    computes[0] = computes[1] = between(out.dtype, in.dtype);
  } else if (writes_bool(mode)) {
    computes[1] = reads_truth(mode) ? kU8 : compute_of(in.dtype);
    computes[0] = kU8;
  } else {
    // True division of integers is made in the result's type.
    computes[0] = computes[1] =
        compute_of(is_floating(out.dtype) ? out.dtype : in.dtype);
  }
  const View* views[] = {&out, &in};
  run_elementwise(
      stream,
      "Unary",
      table.map[computes[1]][static_cast<int>(mode)],
      params_of(in.dtype, alpha, beta),
      views,
      computes,
      2);
}

} // namespace musa_standin::engine::cpu
