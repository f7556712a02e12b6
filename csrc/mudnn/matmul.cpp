// SPDX-License-Identifier: Apache-2.0
// Products through MatMul, BatchMatMul and Dot.
#include "csrc/mudnn/matmul.h"

#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/tensor_view.h"
#include "csrc/mudnn/workspace.h"

#include <ATen/ops/empty.h>

namespace torch_fl::mudnn {

namespace {

namespace dnn = ::musa::dnn;

// A dense matrix, or a batch of them, as muDNN sees it.
struct Matrix {
  dnn::Tensor view;
  bool transposed = false;
  at::Tensor kept; // the dense copy, if one had to be made
};

bool is_native(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16 ||
      type == at::kDouble || type == at::kLong;
}

// Whether the rows of the last two dimensions lie one behind the other when
// rows and columns change places, batches being dense.
bool is_dense_transposed(const at::Tensor& t) {
  const auto sizes = t.sizes();
  const auto strides = t.strides();
  const size_t last = sizes.size() - 1;
  const int64_t rows = sizes[last - 1];
  const int64_t columns = sizes[last];
  return (rows == 1 || strides[last - 1] == 1) &&
      (columns == 1 || strides[last] == rows) &&
      (last == 1 || sizes[0] == 1 || strides[0] == rows * columns);
}

// Rank 2 or 3, dense; `batches` may be 1 where the tensor has more.
C10_ALWAYS_INLINE void set_view(
    dnn::Tensor& view,
    const at::Tensor& t,
    const void* address,
    bool transposed,
    int64_t batches) {
  const auto sizes = t.sizes();
  const size_t last = sizes.size() - 1;
  const int64_t dims[3] = {
      batches,
      sizes[transposed ? last : last - 1],
      sizes[transposed ? last - 1 : last]};
  FL_MUDNN_CHECK(view.SetType(required_dnn_type(t.scalar_type())));
  FL_MUDNN_CHECK(view.SetAddr(address));
  FL_MUDNN_CHECK(
      view.SetNdInfo(static_cast<int>(last) + 1, dims + (last == 1 ? 1 : 0)));
}

void set_view(
    dnn::Tensor& view,
    const at::Tensor& t,
    bool transposed,
    int64_t batches) {
  set_view(view, t, t.unsafeGetTensorImpl()->data(), transposed, batches);
}

// The result, dense.
void set_output(dnn::Tensor& view, const at::Tensor& t) {
  set_view(
      view,
      t,
      t.unsafeGetTensorImpl()->mutable_data(),
      false,
      t.sizes()[0]);
}

// MatMul takes dense operands only (facts/mudnn-api.md quirk 41): a transposed
// one is described as the matrix it is the transpose of, anything else is
// copied on the device.
void describe_operand(Matrix& made, const at::Tensor& t) {
  const int64_t batches = t.sizes()[0];
  if (t.is_contiguous()) {
    return set_view(made.view, t, false, batches);
  }
  if (is_dense_transposed(t)) {
    made.transposed = true;
    return set_view(made.view, t, true, batches);
  }
  if (t.dim() == 3 && batches > 1 && t.stride(0) == 0) {
    // One matrix for every batch: extent 1, as extent B with stride 0 is
    // refused (quirk 42).
    made.kept = t.narrow(0, 0, 1);
    if (!made.kept.is_contiguous() && !is_dense_transposed(made.kept)) {
      made.kept = made.kept.contiguous();
    }
    made.transposed = !made.kept.is_contiguous();
    return set_view(made.view, made.kept, made.transposed, 1);
  }
  made.kept = t.contiguous();
  set_view(made.view, made.kept, false, batches);
}

template <class Op>
void run(
    const at::Tensor& out,
    const at::Tensor& a,
    const at::Tensor& b,
    double alpha,
    double beta) {
  Matrix left;
  Matrix right;
  describe_operand(left, a);
  describe_operand(right, b);
  dnn::Tensor result;
  set_output(result, out);
  Op op;
  FL_MUDNN_CHECK(op.SetTranspose(left.transposed, right.transposed));
  if (alpha != 1) {
    FL_MUDNN_CHECK(op.SetAlpha(alpha));
  }
  if (beta != 0) {
    FL_MUDNN_CHECK(op.SetBeta(beta));
  }
  FL_MUDNN_CHECK(op.Run(handle(), result, left.view, right.view, workspace()));
}

// out = alpha * a @ b + beta * out for a dense out and muDNN's own dtypes.
void multiply(
    const at::Tensor& out,
    const at::Tensor& a,
    const at::Tensor& b,
    double alpha,
    double beta) {
  if (out.dim() == 2) {
    return run<dnn::MatMul>(out, a, b, alpha, beta);
  }
  // Two operands of batch extent 1 make one product: at least one of them
  // gets its batches.
  if (out.size(0) > 1 && a.stride(0) == 0 && b.stride(0) == 0) {
    return run<dnn::BatchMatMul>(out, a.contiguous(), b, alpha, beta);
  }
  run<dnn::BatchMatMul>(out, a, b, alpha, beta);
}

// out = alpha * a @ b + beta * self (c slot) + gamma * bias (row of N).
template <class Op>
void run_with_addend(
    const at::Tensor& out,
    const at::Tensor& a,
    const at::Tensor& b,
    const at::Tensor& addend,
    bool is_row,
    double alpha,
    double beta) {
  Matrix left;
  Matrix right;
  describe_operand(left, a);
  describe_operand(right, b);
  dnn::Tensor result;
  set_output(result, out);
  Op op;
  FL_MUDNN_CHECK(op.SetTranspose(left.transposed, right.transposed));
  if (alpha != 1) {
    FL_MUDNN_CHECK(op.SetAlpha(alpha));
  }
  if (is_row) {
    // In the bias slot beta is called gamma; the c slot stays out of it.
    dnn::Tensor row;
    const int64_t columns = out.size(-1);
    FL_MUDNN_CHECK(row.SetType(required_dnn_type(addend.scalar_type())));
    FL_MUDNN_CHECK(row.SetAddr(addend.unsafeGetTensorImpl()->data()));
    FL_MUDNN_CHECK(row.SetNdInfo(1, &columns));
    if (beta != 1) {
      FL_MUDNN_CHECK(op.SetGamma(beta));
    }
    FL_MUDNN_CHECK(op.RunWithBiasAdd(
        handle(),
        result,
        left.view,
        right.view,
        row,
        workspace()));
    return;
  }
  const dnn::Tensor none;
  FL_MUDNN_CHECK(op.SetBeta(beta));
  FL_MUDNN_CHECK(op.RunWithBiasAdd(
      handle(),
      result,
      left.view,
      right.view,
      view(addend),
      none,
      workspace()));
}

bool shares_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.storage().unsafeGetStorageImpl() ==
      b.storage().unsafeGetStorageImpl();
}

at::Tensor dense_like(const at::Tensor& t, at::ScalarType type) {
  return at::empty(t.sizes(), t.options().dtype(type));
}

bool is_one(const at::Scalar& s) {
  return s.equal(1);
}

bool is_zero(const at::Scalar& s) {
  return s.equal(0);
}

// Integers: muDNN's factors are doubles, so factors other than 1 are applied
// apart, in the integers' own arithmetic.
void matmul_add_integers(
    const at::Tensor& out,
    const at::Tensor& self,
    const at::Tensor& a,
    const at::Tensor& b,
    const at::Scalar& beta,
    const at::Scalar& alpha) {
  const at::Tensor product = dense_like(out, at::kLong);
  multiply(product, a.to(at::kLong), b.to(at::kLong), 1, 0);
  if (!is_one(alpha)) {
    product.mul_(alpha);
  }
  if (!is_zero(beta)) {
    product.add_(self.to(at::kLong), beta);
  }
  out.copy_(product);
}

// For a dense out that shares no memory with a and b.
void matmul_add_dense(
    const at::Tensor& out,
    const at::Tensor& self,
    const at::Tensor& a,
    const at::Tensor& b,
    double beta,
    double alpha) {
  if (out.is_same(self)) {
    return multiply(out, a, b, alpha, beta);
  }
  // RunWithBiasAdd refuses doubles (quirk 44).
  if (out.scalar_type() != at::kDouble && !shares_memory(out, self)) {
    const int64_t columns = out.size(-1);
    const bool is_row = self.numel() == columns && self.dim() >= 1 &&
        self.size(-1) == columns && self.is_contiguous();
    const bool is_full = self.is_contiguous() && self.sizes() == out.sizes();
    if (out.dim() == 2 && (is_row || is_full)) {
      return run_with_addend<dnn::MatMul>(
          out,
          a,
          b,
          self,
          !is_full,
          alpha,
          beta);
    }
    if (out.dim() == 3 && is_full &&
        (out.size(0) == 1 || a.stride(0) != 0 || b.stride(0) != 0)) {
      return run_with_addend<dnn::BatchMatMul>(
          out,
          a,
          b,
          self,
          false,
          alpha,
          beta);
    }
  }
  out.copy_(self);
  multiply(out, a, b, alpha, beta);
}

// Nothing is summed up: muDNN leaves the output alone (quirk 43).
void without_product(
    const at::Tensor& out,
    const at::Tensor& self,
    const at::Scalar& beta) {
  if (is_zero(beta)) {
    out.zero_();
    return;
  }
  if (!out.is_same(self)) {
    out.copy_(self);
  }
  if (!is_one(beta)) {
    out.mul_(beta);
  }
}

} // namespace

bool can_multiply(at::ScalarType type) {
  return is_native(type) ||
      (c10::isIntegralType(type, false) && has_dnn_type(type));
}

void matmul_add(
    const at::Tensor& out,
    const at::Tensor& self,
    const at::Tensor& a,
    const at::Tensor& b,
    const at::Scalar& beta,
    const at::Scalar& alpha) {
  if (out.numel() == 0) {
    return;
  }
  if (a.size(-1) == 0) {
    return without_product(out, self, beta);
  }
  if (c10::isIntegralType(out.scalar_type(), false)) {
    const bool plain = out.scalar_type() == at::kLong && is_one(alpha) &&
        is_zero(beta) && out.is_contiguous() && !shares_memory(out, a) &&
        !shares_memory(out, b);
    return plain ? multiply(out, a, b, 1, 0)
                 : matmul_add_integers(out, self, a, b, beta, alpha);
  }
  const double factor = alpha.toDouble();
  const double kept = beta.toDouble();
  const bool overlaps = shares_memory(out, a) || shares_memory(out, b);
  if (C10_LIKELY(!overlaps && out.is_contiguous())) {
    return kept == 0 ? multiply(out, a, b, factor, 0)
                     : matmul_add_dense(out, self, a, b, kept, factor);
  }
  if (!overlaps && is_dense_transposed(out) &&
      (kept == 0 || self.dim() == out.dim())) {
    // The transposed output is the product of the operands' transposes.
    const at::Tensor result = out.transpose(-2, -1);
    const at::Tensor left = b.transpose(-2, -1);
    const at::Tensor right = a.transpose(-2, -1);
    return kept == 0 ? multiply(result, left, right, factor, 0)
                     : matmul_add_dense(
                           result,
                           out.is_same(self) ? result : self.transpose(-2, -1),
                           left,
                           right,
                           kept,
                           factor);
  }
  const at::Tensor dense = dense_like(out, out.scalar_type());
  if (kept == 0) {
    multiply(dense, a, b, factor, 0);
  } else {
    matmul_add_dense(dense, self, a, b, kept, factor);
  }
  out.copy_(dense);
}

void matmul(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  // What nearly every call looks like costs a few comparisons.
  const bool plain = out.numel() != 0 && a.size(-1) != 0 &&
      out.is_contiguous() && !c10::isIntegralType(out.scalar_type(), false) &&
      !shares_memory(out, a) && !shares_memory(out, b);
  if (C10_LIKELY(plain)) {
    multiply(out, a, b, 1, 0);
  } else {
    matmul_add(out, out, a, b, 0, 1);
  }
}

void matmul_into_new(
    const at::Tensor& out,
    const at::Tensor& a,
    const at::Tensor& b) {
  multiply(out, a, b, 1, 0);
}

bool can_dot(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

void dot(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  dnn::Tensor result = writable(out);
  const at::Tensor left = a.contiguous();
  const at::Tensor right = b.contiguous();
  dnn::Dot op;
  FL_MUDNN_CHECK(
      op.Run(handle(), result, view(left), view(right), workspace()));
}

} // namespace torch_fl::mudnn
