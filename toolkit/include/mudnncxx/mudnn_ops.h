// SPDX-License-Identifier: Apache-2.0
// muDNN elementwise, scan, indexing, sorting and selecting operators.
#pragma once

#include "mudnn_base.h"
#include "mudnn_nn.h"
#include "mudnn_tensor.h"

namespace musa::dnn {
inline namespace portable_1 {

class MUDNN_EXPORT Unary : public ImplBase {
 public:
  enum class Mode {
    ADD,
    SUB,
    MUL,
    DIV,
    TRUEDIV,
    FLOORDIV,
    TRUNCATEDIV,
    FLOORMOD,
    TRUNCATEMOD,
    SUB_BY_ALPHA,
    DIV_BY_ALPHA,
    TRUEDIV_BY_ALPHA,
    FLOORDIV_BY_ALPHA,
    TRUNCATEDIV_BY_ALPHA,
    POW,
    MAX,
    MIN,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    LOGICAL_AND,
    LOGICAL_OR,
    LOGICAL_XOR,
    IS_NAN,
    IS_INF,
    IS_FINITE,
    IS_NONZERO,
    ABS,
    SIGN,
    SQRT,
    RSQRT,
    SQUARE,
    RECIPROCAL,
    EXP,
    LOG,
    LOG2,
    LOG10,
    LOG1P,
    SIN,
    COS,
    TAN,
    ACOS,
    ATAN,
    TANH,
    ERF,
    CEIL,
    FLOOR,
    ROUND,
    SIGMOID,
    RELU,
    RELU6,
    SILU,
    SWISH,
    MISH,
    HARDSWISH,
    HARDSIGMOID,
    LEAKY_RELU,
    ELU,
    SOFTPLUS,
    CLIP,
    GELU,
    GELU_TANH,
    IDENTITY,
    CAST,
  };
  Status SetMode(Mode mode) {
    mode_ = mode;
    return Status::SUCCESS;
  }
  // The int64_t overloads belong to integral tensors, the double ones to
  // floating tensors.
  Status SetAlpha(double alpha) {
    alpha_.set(alpha);
    return Status::SUCCESS;
  }
  Status SetAlpha(int64_t alpha) {
    alpha_.set(alpha);
    return Status::SUCCESS;
  }
  Status SetBeta(double beta) {
    beta_.set(beta);
    return Status::SUCCESS;
  }
  Status SetBeta(int64_t beta) {
    beta_.set(beta);
    return Status::SUCCESS;
  }
  Status Run(Handle& handle, Tensor& out, const Tensor& in);

 private:
  Mode mode_ = Mode::IDENTITY;
  Scalar alpha_;
  Scalar beta_;
};

class MUDNN_EXPORT Binary : public ImplBase {
 public:
  enum class Mode {
    ADD,
    SUB,
    MUL,
    MAX,
    MIN,
    ADD_ALPHA,
    SUB_ALPHA,
    DIV,
    TRUEDIV,
    FLOORDIV,
    TRUNCATEDIV,
    FLOORMOD,
    TRUNCATEMOD,
    DIVNONAN,
    POW,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    LOGICAL_AND,
    LOGICAL_OR,
    LOGICAL_XOR,
    PRELU,
    SIGMOID_BW,
    TANH_BW,
    SILU_BW,
    GELU_NONE_BW,
    GELU_TANH_BW,
    THRESHOLD_BW,
    LEAKY_RELU_BW,
    RELU6_BW,
    RSQRT_BW,
    SQUARED_DIFF,
  };
  Status SetMode(Mode mode) {
    mode_ = mode;
    return Status::SUCCESS;
  }
  Status SetAlpha(double alpha) {
    alpha_.set(alpha);
    return Status::SUCCESS;
  }
  Status SetAlpha(int64_t alpha) {
    alpha_.set(alpha);
    return Status::SUCCESS;
  }
  Status SetBeta(double beta) {
    beta_.set(beta);
    return Status::SUCCESS;
  }
  Status SetBeta(int64_t beta) {
    beta_.set(beta);
    return Status::SUCCESS;
  }
  Status
  Run(Handle& handle, Tensor& out, const Tensor& left, const Tensor& right);

 private:
  Mode mode_ = Mode::ADD;
  Scalar alpha_;
  Scalar beta_;
};

class MUDNN_EXPORT Ternary : public ImplBase {
 public:
  enum class Mode {
    SELECT,
    SELECTV2,
    ADDCMUL,
    ADDCMUL_ALPHA,
    ADDCDIV,
    ADDCDIV_ALPHA,
    CLAMP,
  };
  Status SetMode(Mode mode) {
    mode_ = mode;
    return Status::SUCCESS;
  }
  Status SetAlpha(double alpha) {
    alpha_.set(alpha);
    return Status::SUCCESS;
  }
  Status SetAlpha(int64_t alpha) {
    alpha_.set(alpha);
    return Status::SUCCESS;
  }
  Status Run(
      Handle& handle,
      Tensor& out,
      const Tensor& a,
      const Tensor& b,
      const Tensor& c);

 private:
  Mode mode_ = Mode::SELECT;
  Scalar alpha_;
};

// Cumulative sum or product along an axis.
class MUDNN_EXPORT Cum : public ImplBase {
 public:
  enum class Mode {
    ADD,
    MUL,
  };
  Status SetMode(Mode mode) {
    mode_ = mode;
    return Status::SUCCESS;
  }
  Status SetDim(int dim) {
    dim_ = dim;
    return Status::SUCCESS;
  }
  Status Run(
      Handle& handle,
      Tensor& out,
      const Tensor& in,
      const MemoryMaintainer& maintainer);

 private:
  Mode mode_ = Mode::ADD;
  int dim_ = 0;
};

class MUDNN_EXPORT GatherX : public ImplBase {
 public:
  enum class Mode {
    GATHER,
    GATHER_ELEMENTS,
    GATHER_ND,
  };
  Status SetMode(Mode mode) {
    mode_ = mode;
    return Status::SUCCESS;
  }
  Status SetAxis(int axis) {
    axis_ = axis;
    return Status::SUCCESS;
  }
  Status SetBatchDims(int count) {
    batch_dims_ = count;
    return Status::SUCCESS;
  }
  Status
  Run(Handle& handle, Tensor& out, const Tensor& index, const Tensor& in);

 private:
  Mode mode_ = Mode::GATHER;
  int axis_ = 0;
  int batch_dims_ = 0;
};

class MUDNN_EXPORT Scatter : public ImplBase {
 public:
  enum class Mode {
    UPDATE_ONLY,
    ADD,
    SUB,
    MUL,
  };
  Status SetMode(Mode mode) {
    mode_ = mode;
    return Status::SUCCESS;
  }
  Status Run(
      Handle& handle,
      Tensor& self,
      const Tensor& index,
      const Tensor& update,
      int dim,
      const MemoryMaintainer& maintainer);

 private:
  Mode mode_ = Mode::UPDATE_ONLY;
};

class MUDNN_EXPORT Sort : public ImplBase {
 public:
  Status SetDim(int dim) {
    dim_ = dim;
    return Status::SUCCESS;
  }
  Status SetDescending(bool descending) {
    descending_ = descending;
    return Status::SUCCESS;
  }
  Status SetStable(bool stable) {
    stable_ = stable;
    return Status::SUCCESS;
  }
  Status Run(
      Handle& handle,
      Tensor& values,
      Tensor& indices,
      const Tensor& in,
      const MemoryMaintainer& maintainer);

 private:
  int dim_ = 0;
  bool descending_ = false;
  bool stable_ = false;
};

class MUDNN_EXPORT TopK : public ImplBase {
 public:
  Status SetK(int k) {
    k_ = k;
    return Status::SUCCESS;
  }
  Status SetDim(int dim) {
    dim_ = dim;
    return Status::SUCCESS;
  }
  Status SetLargest(bool largest) {
    largest_ = largest;
    return Status::SUCCESS;
  }
  Status SetSorted(bool sorted) {
    sorted_ = sorted;
    return Status::SUCCESS;
  }
  Status Run(
      Handle& handle,
      Tensor& values,
      Tensor& indices,
      const Tensor& in,
      const MemoryMaintainer& maintainer);

 private:
  int k_ = 1;
  int dim_ = 0;
  bool largest_ = true;
  bool sorted_ = true;
};

// Waits for the count; out, shaped [room, rank of in] before the call, then
// has [count, rank of in].
class MUDNN_EXPORT Nonzero : public ImplBase {
 public:
  Status Run(
      Handle& handle,
      Tensor& out,
      const Tensor& in,
      const MemoryMaintainer& maintainer);
};

// Waits for the count; out, shaped [room] before the call, then has [count].
class MUDNN_EXPORT MaskedSelect : public ImplBase {
 public:
  Status Run(
      Handle& handle,
      Tensor& out,
      const Tensor& in,
      const Tensor& mask,
      const MemoryMaintainer& maintainer);
};

} // namespace portable_1
} // namespace musa::dnn
