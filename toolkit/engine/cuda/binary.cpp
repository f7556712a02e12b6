// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's operators of two and three operands.
#include "toolkit/engine/cuda/binary_kernels.h"
#include "toolkit/engine/cuda/dnn.h"

namespace musa_standin::engine::cuda {

namespace {

const BinaryTable& binary_table() {
  static const BinaryTable table = [] {
    BinaryTable t{};
    add_binary_arithmetic(t);
    add_binary_gradients(t);
    add_binary_tests(t);
    return t;
  }();
  return table;
}

bool compares(BinaryMode mode) {
  return mode >= BinaryMode::kEq && mode <= BinaryMode::kGe;
}

bool is_logical(BinaryMode mode) {
  return mode >= BinaryMode::kLogicalAnd && mode <= BinaryMode::kLogicalXor;
}

Compute common(Dtype a, Dtype b) {
  const Compute x = compute_of(a);
  return x == compute_of(b) ? x : between(a, b);
}

// 0 for an element of one byte, 3 for one of eight.
int size_of(Dtype type) {
  return __builtin_ctzll(static_cast<uint64_t>(element_bytes(type)));
}

} // namespace

void CudaDnn::binary(
    Stream& stream,
    BinaryMode mode,
    const View& out,
    const View& left,
    const View& right,
    Scalar alpha) {
  const BinaryTable::Row& row = binary_table().rows[static_cast<int>(mode)];
  Compute compute = is_logical(mode) ? kU8 : common(left.dtype, right.dtype);
  // True division of integers is made in the result's type.
  if (compute == kI64 && is_floating(out.dtype))
    compute = compute_of(out.dtype);
  const bool has_dense = left.dtype <= Dtype::kBfloat16 &&
      left.dtype == right.dtype && compute == kF32 &&
      (compares(mode) || out.dtype == left.dtype);
  const View* const views[] = {&out, &left, &right};
  run_elementwise<2>(
      stream,
      has_dense ? row.dense[static_cast<int>(left.dtype)] : nullptr,
      row.strided[compute],
      {parameter_of(left.dtype, compute, alpha), 0},
      views);
}

void CudaDnn::ternary(
    Stream& stream,
    TernaryMode mode,
    const View& out,
    const View* inputs,
    Scalar alpha) {
  const TernaryTable& table = ternary_table();
  const View* const views[] = {&out, &inputs[0], &inputs[1], &inputs[2]};
  if (mode == TernaryMode::kSelect || mode == TernaryMode::kSelectV2) {
    const int size = size_of(out.dtype);
    run_elementwise<3>(
        stream,
        table.select_dense[size],
        table.select_strided[size],
        {},
        views);
    return;
  }
  const Dtype type = inputs[0].dtype;
  const Compute compute = compute_of(type);
  const bool plain =
      mode == TernaryMode::kAddcmul || mode == TernaryMode::kAddcdiv;
  const uint64_t one =
      compute == kI64 ? uint64_t{1} : parameter_bits(compute, 1);
  const TernaryTable::Row& row = table.rows[static_cast<int>(mode)];
  run_elementwise<3>(
      stream,
      type <= Dtype::kBfloat16 ? row.dense[static_cast<int>(type)] : nullptr,
      row.strided[compute],
      {plain ? one : parameter_of(type, compute, alpha), 0},
      views);
}

} // namespace musa_standin::engine::cuda
