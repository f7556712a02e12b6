// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's operators of one operand.
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/unary_kernels.h"

namespace musa_standin::engine::cuda {

namespace {

const UnaryTable& unary_table() {
  static const UnaryTable table = [] {
    UnaryTable t{};
    add_unary_activations(t);
    add_unary_functions(t);
    add_unary_numbers(t);
    add_unary_tests(t);
    return t;
  }();
  return table;
}

bool writes_bool(UnaryMode mode) {
  return mode >= UnaryMode::kEq && mode <= UnaryMode::kIsNonzero;
}

bool reads_truth(UnaryMode mode) {
  return (mode >= UnaryMode::kLogicalAnd && mode <= UnaryMode::kLogicalXor) ||
      mode == UnaryMode::kIsNonzero;
}

// Powers have short forms, which are also exact where the general one is not.
int row_of(UnaryMode mode, Dtype type, Scalar alpha) {
  const int row = static_cast<int>(mode);
  if (mode != UnaryMode::kPow || !is_floating(type))
    return row;
  const double exponent = alpha.as_double();
  if (exponent == 2)
    return static_cast<int>(UnaryMode::kSquare);
  if (exponent == 3)
    return kUnaryCube;
  if (exponent == 0.5)
    return static_cast<int>(UnaryMode::kSqrt);
  if (exponent == -0.5)
    return static_cast<int>(UnaryMode::kRsqrt);
  if (exponent == -1)
    return static_cast<int>(UnaryMode::kReciprocal);
  return exponent == -2 ? kUnaryReciprocalSquare : row;
}

void cast(engine::Stream& stream, const View& out, const View& in) {
  const CastTable& table = cast_table();
  const bool small =
      out.dtype <= Dtype::kBfloat16 && in.dtype <= Dtype::kBfloat16;
  const View* const views[] = {&out, &in};
  run_elementwise<1>(
      stream,
      small
          ? table.dense[static_cast<int>(out.dtype)][static_cast<int>(in.dtype)]
          : nullptr,
      table.strided[between(out.dtype, in.dtype)],
      {},
      views);
}

} // namespace

void CudaDnn::unary(
    Stream& stream,
    UnaryMode mode,
    const View& out,
    const View& in,
    Scalar alpha,
    Scalar beta) {
  if (mode == UnaryMode::kIdentity || mode == UnaryMode::kCast) {
    return out.dtype == in.dtype ? copy(stream, out, in)
                                 : cast(stream, out, in);
  }
  const UnaryTable::Row& row =
      unary_table().rows[row_of(mode, in.dtype, alpha)];
  const bool tests = writes_bool(mode);
  Compute compute = reads_truth(mode) ? kU8 : compute_of(in.dtype);
  // True division of integers is made in the result's type.
  if (!tests && is_floating(out.dtype))
    compute = compute_of(out.dtype);
  const bool has_dense = in.dtype <= Dtype::kBfloat16 && compute == kF32 &&
      (tests || out.dtype == in.dtype);
  const View* const views[] = {&out, &in};
  run_elementwise<1>(
      stream,
      has_dense ? row.dense[static_cast<int>(in.dtype)] : nullptr,
      row.strided[compute],
      {parameter_of(in.dtype, compute, alpha),
       parameter_of(in.dtype, compute, beta)},
      views);
}

} // namespace musa_standin::engine::cuda
