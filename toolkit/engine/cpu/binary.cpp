// SPDX-License-Identifier: Apache-2.0
// The CPU engine's operators of two and three operands.
#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/elementwise.h"

namespace musa_standin::engine::cpu {

namespace {

bool compares(BinaryMode mode) {
  return mode >= BinaryMode::kEq && mode <= BinaryMode::kGe;
}

bool is_logical(BinaryMode mode) {
  return mode >= BinaryMode::kLogicalAnd && mode <= BinaryMode::kLogicalXor;
}

Compute common(Dtype a, Dtype b) {
  const Compute x = compute_of(a);
  if (a == b)
    return x;
  const Compute y = compute_of(b);
  if (x == y)
    return x;
  if (x == kF64 || y == kF64)
    return kF64;
  return x == kF32 || y == kF32 ? kF32 : kI64;
}

} // namespace

void CpuDnn::binary(
    engine::Stream& stream,
    BinaryMode mode,
    const View& out,
    const View& left,
    const View& right,
    Scalar alpha) {
  static const BinaryKernels& table = MUSA_ISA_PICK(kBinaryKernels);
  Compute in = is_logical(mode) ? kU8 : common(left.dtype, right.dtype);
  Compute result = in;
  if (compares(mode)) {
    result = kU8;
  } else if (in == kI64 && is_floating(out.dtype)) {
    in = result = compute_of(out.dtype);
  }
  const Compute computes[] = {result, in, in};
  const View* views[] = {&out, &left, &right};
  run_elementwise(
      stream,
      "Binary",
      table.map[in][static_cast<int>(mode)],
      params_of(left.dtype, alpha, Scalar{}),
      views,
      computes,
      3);
}

void CpuDnn::ternary(
    engine::Stream& stream,
    TernaryMode mode,
    const View& out,
    const View* inputs,
    Scalar alpha) {
  static const TernaryKernels& table = MUSA_ISA_PICK(kTernaryKernels);
  const View* views[] = {&out, &inputs[0], &inputs[1], &inputs[2]};
  if (mode == TernaryMode::kSelect || mode == TernaryMode::kSelectV2) {
    const Compute raw = raw_of(out.dtype);
    const Compute computes[] = {raw, kRaw1, raw, raw};
    run_elementwise(
        stream,
        "Ternary",
        table.select[raw - kRaw1],
        Params{},
        views,
        computes,
        4);
    return;
  }
  Params params = params_of(inputs[0].dtype, alpha, Scalar{});
  if (mode == TernaryMode::kAddcmul || mode == TernaryMode::kAddcdiv)
    params = {{1, 0}, {1, 0}};
  const Compute in = compute_of(inputs[0].dtype);
  const Compute computes[] = {in, in, in, in};
  run_elementwise(
      stream,
      "Ternary",
      table.map[in][static_cast<int>(mode)],
      params,
      views,
      computes,
      4);
}

} // namespace musa_standin::engine::cpu
