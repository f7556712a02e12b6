// SPDX-License-Identifier: Apache-2.0
// muDNN tensor descriptor, and Reduce, Fill, Permute and Concat.
#pragma once

#include <initializer_list>
#include <vector>

#include "mudnn_base.h"

namespace musa::dnn {
inline namespace portable_1 {

// A value type on the caller's stack. The arrays are valid up to the rank; a
// default-constructed tensor stands for an absent operand.
class MUDNN_EXPORT Tensor {
 public:
  enum class Type : uint8_t {
    FLOAT,
    HALF,
    BFLOAT16,
    DOUBLE,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    BOOL,
    QINT8,
    QINT4,
    FP8_E4M3,
    FP8_E5M2,
  };
  enum class Format : uint8_t {
    UNKNOWN,
    NCW,
    NWC,
    NCHW,
    NHWC,
    HWCN,
    NCDHW,
    NDHWC,
    DHWCN,
  };

  Tensor() {} // NOLINT(modernize-use-equals-default): leaves the arrays alone
  Tensor(const Tensor& other) { assign(other); }
  Tensor& operator=(const Tensor& other) {
    if (this != &other)
      assign(other);
    return *this;
  }
  ~Tensor() = default;

  Status SetType(Type type) {
    type_ = type;
    return Status::SUCCESS;
  }
  Status SetFormat(Format format) {
    format_ = format;
    return Status::SUCCESS;
  }
  Status SetAddr(const void* address) {
    address_ = const_cast<void*>(address);
    return Status::SUCCESS;
  }
  Status SetQuantizationInfo(float scale) {
    scale_ = scale;
    return Status::SUCCESS;
  }

  // Row-major. Rank 1 to 8: anything else is INVALID_PARAMETER.
  Status SetNdInfo(int n, const int64_t* dims) {
    if (n < 1 || n > kMaxRank)
      return BadRank(n);
    int64_t stride = 1;
    for (int i = n - 1; i >= 0; --i) {
      dims_[i] = dims[i];
      strides_[i] = stride;
      stride *= dims[i];
    }
    rank_ = n;
    numel_ = stride;
    dense_ = true;
    return Status::SUCCESS;
  }
  // Strides count elements.
  Status SetNdInfo(int n, const int64_t* dims, const int64_t* strides) {
    if (n < 1 || n > kMaxRank)
      return BadRank(n);
    int64_t numel = 1;
    bool dense = true;
    for (int i = n - 1; i >= 0; --i) {
      dims_[i] = dims[i];
      strides_[i] = strides[i];
      dense &= dims[i] == 1 || strides[i] == numel;
      numel *= dims[i];
    }
    rank_ = n;
    numel_ = numel;
    dense_ = dense || numel == 0;
    return Status::SUCCESS;
  }
  Status SetNdInfo(std::initializer_list<int64_t> dims) {
    return SetNdInfo(static_cast<int>(dims.size()), dims.begin());
  }
  Status SetNdInfo(
      std::initializer_list<int64_t> dims,
      std::initializer_list<int64_t> strides) {
    if (dims.size() != strides.size())
      return Status::INVALID_PARAMETER;
    return SetNdInfo(
        static_cast<int>(dims.size()),
        dims.begin(),
        strides.begin());
  }

  // After Nonzero and MaskedSelect: the sizes of the result.
  Status GetNdInfo(std::vector<int64_t>& dims) const {
    dims.assign(dims_, dims_ + rank_);
    return Status::SUCCESS;
  }
  Status GetNdInfo(std::vector<int64_t>& dims, std::vector<int64_t>& strides)
      const {
    dims.assign(dims_, dims_ + rank_);
    strides.assign(strides_, strides_ + rank_);
    return Status::SUCCESS;
  }

 private:
  friend struct Access;
  static constexpr int kMaxRank = 8;

  static Status BadRank(int n);
  void assign(const Tensor& other) {
    address_ = other.address_;
    numel_ = other.numel_;
    rank_ = other.rank_;
    scale_ = other.scale_;
    type_ = other.type_;
    format_ = other.format_;
    dense_ = other.dense_;
    for (int i = 0; i < rank_; ++i) {
      dims_[i] = other.dims_[i];
      strides_[i] = other.strides_[i];
    }
  }

  void* address_ = nullptr;
  int64_t numel_ = 0;
  int32_t rank_ = 0;
  float scale_ = 1.0F;
  Type type_ = Type::FLOAT;
  Format format_ = Format::NCHW;
  bool dense_ = true;
  int64_t dims_[kMaxRank];
  int64_t strides_[kMaxRank];
};

// Reduces the axes of SetDim, or all of them when none is set.
class MUDNN_EXPORT Reduce : public ImplBase {
 public:
  enum class Mode {
    MAX,
    ADD,
    MUL,
    MEAN,
    MIN,
    PROD,
    AND,
    NORM,
    OR,
    MUL_NO_ZEROS,
    L2LOSS,
    MAX_UNSTABLE,
    MIN_UNSTABLE,
    VARIANCE,
    STD,
  };
  Status SetMode(Mode mode) {
    mode_ = mode;
    return Status::SUCCESS;
  }
  Status SetDim(int n, const int* dims);
  Status SetDim(std::initializer_list<int> dims) {
    return SetDim(static_cast<int>(dims.size()), dims.begin());
  }
  Status SetNormOrd(float order) {
    order_ = order;
    return Status::SUCCESS;
  }
  Status SetCorrection(int correction) {
    correction_ = correction;
    return Status::SUCCESS;
  }
  Status Run(
      Handle& handle,
      Tensor& out,
      const Tensor& in,
      const MemoryMaintainer& maintainer);
  // MAX and MIN with the INT64 position of the result along one axis.
  Status RunWithIndices(
      Handle& handle,
      Tensor& out,
      Tensor& indices,
      const Tensor& in,
      const MemoryMaintainer& maintainer);
  Status RunIndices(
      Handle& handle,
      Tensor& indices,
      const Tensor& in,
      const MemoryMaintainer& maintainer);

 private:
  Status Start(
      Handle& handle,
      const Tensor* out,
      const Tensor* indices,
      const Tensor& in,
      const MemoryMaintainer& maintainer);

  Mode mode_ = Mode::ADD;
  int count_ = 0;
  int correction_ = 1;
  float order_ = 2.0F;
  int dims_[8];
};

// Writes one value, everywhere or where the BOOL mask is true.
class MUDNN_EXPORT Fill : public ImplBase {
 public:
  Status SetValue(double value) {
    value_.set(value);
    return Status::SUCCESS;
  }
  Status SetValue(int64_t value) {
    value_.set(value);
    return Status::SUCCESS;
  }
  Status Run(Handle& handle, Tensor& out);
  Status Run(Handle& handle, Tensor& out, const Tensor& mask);

 private:
  Scalar value_;
};

// Copies by strides between operands of equal sizes and type.
class MUDNN_EXPORT Permute : public ImplBase {
 public:
  // Turns in's sizes and strides into those of in.permute(order), and gives out
  // the same sizes, row-major.
  Status ConfigDimStride(Tensor& out, Tensor& in, int n, const int64_t* order);
  // Moves in's address to the element at starts and gives it out's sizes; the
  // steps, if any, multiply in's strides.
  Status
  ConfigDimStrideForSlice(Tensor& out, Tensor& in, const int64_t* starts);
  Status ConfigDimStrideForSlice(
      Tensor& out,
      Tensor& in,
      const int64_t* starts,
      const int64_t* steps);
  Status Run(Handle& handle, Tensor& out, const Tensor& in);
};

// Joins dense inputs along an axis.
class MUDNN_EXPORT Concat : public ImplBase {
 public:
  Status SetAxis(int axis) {
    axis_ = axis;
    return Status::SUCCESS;
  }
  Status Run(Handle& handle, Tensor& out, int count, const Tensor* inputs);

 private:
  int axis_ = 0;
};

} // namespace portable_1
} // namespace musa::dnn
