// SPDX-License-Identifier: Apache-2.0
// Numbers in sequence, for which muDNN has no class: a running sum makes them.
#include "csrc/mudnn/sequence.h"

#include "csrc/allocator/device_allocator.h"
#include "csrc/mudnn/copy.h"
#include "csrc/mudnn/elementwise.h"
#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/workspace.h"

#include <ATen/EmptyTensor.h>

namespace torch_fl::mudnn {

namespace {

at::Tensor make(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::detail::empty_generic(
      sizes,
      allocator::device_allocator(),
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      dtype,
      std::nullopt);
}

void run_cumulate(
    const at::Tensor& out,
    const at::Tensor& in,
    int64_t dim,
    bool product) {
  ::musa::dnn::Tensor to = writable(out);
  const ::musa::dnn::Tensor from = view(in);
  ::musa::dnn::Cum op;
  FL_MUDNN_CHECK(op.SetMode(
      product ? ::musa::dnn::Cum::Mode::MUL : ::musa::dnn::Cum::Mode::ADD));
  FL_MUDNN_CHECK(op.SetDim(static_cast<int>(dim)));
  FL_MUDNN_CHECK(op.Run(plain_handle(), to, from, workspace()));
}

} // namespace

void cumulate(
    const at::Tensor& out,
    const at::Tensor& in,
    int64_t dim,
    bool product) {
  if (out.numel() == 0) {
    return;
  }
  // Cum wants dense operands.
  at::Tensor source = in;
  if (!in.is_contiguous()) {
    source = make(in.sizes(), in.scalar_type());
    copy(source, in);
  }
  if (out.is_contiguous() && !out.is_alias_of(source)) {
    run_cumulate(out, source, dim, product);
    return;
  }
  const at::Tensor result = make(out.sizes(), out.scalar_type());
  run_cumulate(result, source, dim, product);
  copy(out, result);
}

void arange(const at::Tensor& out, const Number& start, const Number& step) {
  const int64_t numel = out.numel();
  if (numel == 0) {
    return;
  }
  const at::Tensor counts = make({numel}, at::kLong);
  const at::Tensor steps = make({numel}, at::kLong);
  const bool whole = c10::isIntegralType(out.scalar_type(), false);
  fill(steps, whole ? Number(step.integer) : Number(int64_t{1}));
  run_cumulate(counts, steps, 0, false);
  at::Tensor result;
  if (whole) {
    unary_tensor(
        counts,
        counts,
        UnaryMode::ADD,
        Number(static_cast<int64_t>(
            static_cast<uint64_t>(start.integer) -
            static_cast<uint64_t>(step.integer))));
    result = counts;
  } else {
    // In double, as the CPU does for every floating type.
    unary_tensor(counts, counts, UnaryMode::SUB, Number(int64_t{1}));
    result = make({numel}, at::kDouble);
    copy(result, counts);
    unary_tensor(result, result, UnaryMode::MUL, Number(step.real));
    unary_tensor(result, result, UnaryMode::ADD, Number(start.real));
  }
  copy(out, result.view(out.sizes()));
}

} // namespace torch_fl::mudnn
