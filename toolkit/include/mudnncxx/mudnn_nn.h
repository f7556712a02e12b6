// SPDX-License-Identifier: Apache-2.0
// muDNN products, convolution, pooling, normalisation, softmax, loss, dropout.
#pragma once

#include <initializer_list>

#include "mudnn_base.h"
#include "mudnn_tensor.h"

namespace musa::dnn {
inline namespace portable_1 {

// c = alpha * a * b + beta * c. Dense operands; a transposed one is the
// original matrix plus SetTranspose.
class MUDNN_EXPORT MatMul : public ImplBase {
 public:
  using ComputeMode = dnn::ComputeMode;
  Status SetTranspose(bool a, bool b) {
    transpose_a_ = a;
    transpose_b_ = b;
    return Status::SUCCESS;
  }
  Status SetAlpha(double alpha) {
    alpha_ = alpha;
    return Status::SUCCESS;
  }
  Status SetBeta(double beta) {
    beta_ = beta;
    return Status::SUCCESS;
  }
  Status SetGamma(double gamma) {
    gamma_ = gamma;
    return Status::SUCCESS;
  }
  Status SetComputeMode(ComputeMode mode) {
    compute_mode_ = mode;
    return Status::SUCCESS;
  }
  Status Run(
      Handle& handle,
      Tensor& c,
      const Tensor& a,
      const Tensor& b,
      const MemoryMaintainer& maintainer = nullptr);
  // d = alpha * a * b + beta * c + gamma * bias, bias of length N or empty.
  Status RunWithBiasAdd(
      Handle& handle,
      Tensor& d,
      const Tensor& a,
      const Tensor& b,
      const Tensor& c,
      const Tensor& bias,
      const MemoryMaintainer& maintainer = nullptr);
  // The same with d = c.
  Status RunWithBiasAdd(
      Handle& handle,
      Tensor& c,
      const Tensor& a,
      const Tensor& b,
      const Tensor& bias,
      const MemoryMaintainer& maintainer = nullptr);

 private:
  double alpha_ = 1;
  double beta_ = 0;
  double gamma_ = 1;
  ComputeMode compute_mode_ = ComputeMode::TENSOR;
  bool transpose_a_ = false;
  bool transpose_b_ = false;
};

// Rank 3; an operand of batch extent 1 is used for every batch.
class MUDNN_EXPORT BatchMatMul : public ImplBase {
 public:
  using ComputeMode = dnn::ComputeMode;
  Status SetTranspose(bool a, bool b) {
    transpose_a_ = a;
    transpose_b_ = b;
    return Status::SUCCESS;
  }
  Status SetAlpha(double alpha) {
    alpha_ = alpha;
    return Status::SUCCESS;
  }
  Status SetBeta(double beta) {
    beta_ = beta;
    return Status::SUCCESS;
  }
  Status SetGamma(double gamma) {
    gamma_ = gamma;
    return Status::SUCCESS;
  }
  Status SetComputeMode(ComputeMode mode) {
    compute_mode_ = mode;
    return Status::SUCCESS;
  }
  // A limit for the processors used; without effect on the results.
  Status SetMpCountTarget(int count) {
    mp_count_target_ = count;
    return Status::SUCCESS;
  }
  Status Run(
      Handle& handle,
      Tensor& c,
      const Tensor& a,
      const Tensor& b,
      const MemoryMaintainer& maintainer = nullptr);
  Status RunWithBiasAdd(
      Handle& handle,
      Tensor& d,
      const Tensor& a,
      const Tensor& b,
      const Tensor& c,
      const Tensor& bias,
      const MemoryMaintainer& maintainer = nullptr);
  Status RunWithBiasAdd(
      Handle& handle,
      Tensor& c,
      const Tensor& a,
      const Tensor& b,
      const Tensor& bias,
      const MemoryMaintainer& maintainer = nullptr);

 private:
  double alpha_ = 1;
  double beta_ = 0;
  double gamma_ = 1;
  ComputeMode compute_mode_ = ComputeMode::TENSOR;
  int mp_count_target_ = 0;
  bool transpose_a_ = false;
  bool transpose_b_ = false;
};

class MUDNN_EXPORT Dot : public ImplBase {
 public:
  using ComputeMode = dnn::ComputeMode;
  Status SetComputeMode(ComputeMode mode) {
    compute_mode_ = mode;
    return Status::SUCCESS;
  }
  Status Run(
      Handle& handle,
      Tensor& out,
      const Tensor& left,
      const Tensor& right,
      const MemoryMaintainer& maintainer);

 private:
  ComputeMode compute_mode_ = ComputeMode::TENSOR;
};

class MUDNN_EXPORT Softmax : public ImplBase {
 public:
  enum class Mode {
    SOFTMAX,
    LOGSOFTMAX,
    LOGSUMEXP,
  };
  enum class Algorithm {
    ACCURATE,
    DIRECT,
  };
  Status SetMode(Mode mode) {
    mode_ = mode;
    return Status::SUCCESS;
  }
  Status SetAlgorithm(Algorithm algorithm) {
    algorithm_ = algorithm;
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
      const MemoryMaintainer& maintainer = nullptr);
  Status RunBwd(
      Handle& handle,
      Tensor& grad_in,
      const Tensor& out,
      const Tensor& grad_out,
      const MemoryMaintainer& maintainer = nullptr);

 private:
  Mode mode_ = Mode::SOFTMAX;
  Algorithm algorithm_ = Algorithm::ACCURATE;
  int dim_ = 0;
};

class MUDNN_EXPORT Convolution : public ImplBase {
 public:
  using ComputeMode = dnn::ComputeMode;
  enum class Algorithm {
    IMPLICIT_GEMM,
    DIRECT,
    WINOGRAD_NONFUSED,
    GEMM,
  };
  enum class AlgorithmBwdData {
    IMPLICIT_GEMM,
    WINOGRAD_NONFUSED,
    GEMM,
    DIRECT,
  };
  enum class AlgorithmBwdFilter {
    IMPLICIT_GEMM,
    WINOGRAD_NONFUSED,
    GEMM,
    DIRECT,
  };
  class FusedActivationDesc {
   public:
    enum class Mode {
      IDENTITY,
      SIGMOID,
      RELU,
      TANH,
      CLIPPED_RELU,
      ELU,
      HARD_SWISH,
      SILU,
    };
    Status SetMode(Mode mode) {
      mode_ = mode;
      return Status::SUCCESS;
    }
    Status SetCoef(double a, double b, double c) {
      coef_[0] = a;
      coef_[1] = b;
      coef_[2] = c;
      return Status::SUCCESS;
    }

   private:
    friend struct Access;
    Mode mode_ = Mode::IDENTITY;
    double coef_[3] = {0, 0, 0};
  };

  // n spatial dimensions.
  Status
  SetNdInfo(int n, const int* pad, const int* stride, const int* dilation);
  Status SetNdInfo(
      std::initializer_list<int> pad,
      std::initializer_list<int> stride,
      std::initializer_list<int> dilation);
  Status SetGroups(int groups) {
    groups_ = groups;
    return Status::SUCCESS;
  }
  Status SetComputeMode(ComputeMode mode) {
    compute_mode_ = mode;
    return Status::SUCCESS;
  }

  Status GetRecommendForwardAlgorithm(
      Handle& handle,
      Algorithm& algorithm,
      const Tensor& out,
      const Tensor& in,
      const Tensor& filter);
  Status GetRecommendBackwardDataAlgorithm(
      Handle& handle,
      AlgorithmBwdData& algorithm,
      const Tensor& grad_in,
      const Tensor& grad_out,
      const Tensor& filter);
  Status GetRecommendBackwardFilterAlgorithm(
      Handle& handle,
      AlgorithmBwdFilter& algorithm,
      const Tensor& grad_filter,
      const Tensor& in,
      const Tensor& grad_out);
  Status GetForwardWorkspaceSize(
      Handle& handle,
      size_t& bytes,
      const Tensor& out,
      const Tensor& in,
      const Tensor& filter,
      const Algorithm& algorithm);
  Status GetBackwardDataWorkspaceSize(
      Handle& handle,
      size_t& bytes,
      const Tensor& grad_in,
      const Tensor& grad_out,
      const Tensor& filter,
      const AlgorithmBwdData& algorithm);
  Status GetBackwardFilterWorkspaceSize(
      Handle& handle,
      size_t& bytes,
      const Tensor& grad_filter,
      const Tensor& in,
      const Tensor& grad_out,
      const AlgorithmBwdFilter& algorithm);

  Status Run(
      Handle& handle,
      Tensor& out,
      const Tensor& in,
      const Tensor& filter,
      Algorithm algorithm,
      const MemoryMaintainer& maintainer);
  // activation(convolution + bias + add); bias and add may be empty.
  Status RunFusion(
      Handle& handle,
      Tensor& out,
      const Tensor& in,
      const Tensor& filter,
      const Tensor& bias,
      const Tensor& add,
      const FusedActivationDesc& activation,
      Algorithm algorithm,
      const MemoryMaintainer& maintainer);
  Status RunBwdData(
      Handle& handle,
      Tensor& grad_in,
      const Tensor& grad_out,
      const Tensor& filter,
      AlgorithmBwdData algorithm,
      const MemoryMaintainer& maintainer);
  Status RunBwdFilter(
      Handle& handle,
      Tensor& grad_filter,
      const Tensor& in,
      const Tensor& grad_out,
      AlgorithmBwdFilter algorithm,
      const MemoryMaintainer& maintainer);

 private:
  friend struct Access;
  static constexpr int kMaxSpatial = 3;
  int spatial_ = 0;
  int groups_ = 1;
  int pad_[kMaxSpatial] = {0, 0, 0};
  int stride_[kMaxSpatial] = {1, 1, 1};
  int dilation_[kMaxSpatial] = {1, 1, 1};
  ComputeMode compute_mode_ = ComputeMode::TENSOR;
};

class MUDNN_EXPORT Pooling : public ImplBase {
 public:
  enum class Mode {
    MAXPOOL,
    AVGPOOL_COUNT_PAD,
    AVGPOOL_COUNT_WITHOUT_PAD,
    GLOBAL_AVGPOOL,
    ADAPTIVE_MAXPOOL,
    ADAPTIVE_AVGPOOL,
  };
  Status SetMode(Mode mode) {
    mode_ = mode;
    return Status::SUCCESS;
  }
  Status SetNdInfo(
      int n,
      const int* kernel,
      const int* pad,
      const int* stride,
      const int* dilation);
  Status SetNdInfo(
      std::initializer_list<int> kernel,
      std::initializer_list<int> pad,
      std::initializer_list<int> stride,
      std::initializer_list<int> dilation);
  // Instead of the window's size; 0 for none.
  Status SetDivisor(int divisor) {
    divisor_ = divisor;
    return Status::SUCCESS;
  }
  // indices: INT64, of max modes; may be empty.
  Status Run(Handle& handle, Tensor& out, const Tensor& in, Tensor& indices);
  Status RunBwd(
      Handle& handle,
      Tensor& grad_in,
      const Tensor& grad_out,
      const Tensor& indices);

 private:
  static constexpr int kMaxSpatial = 3;
  Mode mode_ = Mode::MAXPOOL;
  int spatial_ = 0;
  int divisor_ = 0;
  int kernel_[kMaxSpatial] = {1, 1, 1};
  int pad_[kMaxSpatial] = {0, 0, 0};
  int stride_[kMaxSpatial] = {1, 1, 1};
  int dilation_[kMaxSpatial] = {1, 1, 1};
};

class MUDNN_EXPORT BatchNorm : public ImplBase {
 public:
  enum class Mode {
    PER_CHANNEL,
    PER_ACTIVATION,
  };
  Status SetMode(Mode mode) {
    mode_ = mode;
    return Status::SUCCESS;
  }
  Status SetEpsilon(double epsilon) {
    epsilon_ = epsilon;
    return Status::SUCCESS;
  }
  Status SetTraining(bool training) {
    training_ = training;
    return Status::SUCCESS;
  }
  // Inference with the given statistics.
  Status RunPure(
      Handle& handle,
      Tensor& out,
      const Tensor& in,
      Tensor& mean,
      Tensor& var,
      const Tensor& gamma,
      const Tensor& beta);
  Status RunComposite(
      Handle& handle,
      Tensor& out,
      const Tensor& in,
      Tensor& running_mean,
      Tensor& running_var,
      Tensor& save_mean,
      Tensor& save_invstd,
      const Tensor& gamma,
      const Tensor& beta,
      double momentum,
      const MemoryMaintainer& maintainer);
  // Accumulates into its outputs.
  Status RunBwd(
      Handle& handle,
      Tensor& grad_in,
      Tensor& grad_mean,
      Tensor& grad_var,
      Tensor& grad_gamma,
      Tensor& grad_beta,
      const Tensor& in,
      const Tensor& grad_out,
      const Tensor& mean,
      const Tensor& invstd,
      const Tensor& gamma,
      const MemoryMaintainer& maintainer);

 private:
  Mode mode_ = Mode::PER_CHANNEL;
  double epsilon_ = 1e-5;
  bool training_ = false;
};

// Over the trailing axes that SetAxis names.
class MUDNN_EXPORT LayerNorm : public ImplBase {
 public:
  enum class VarMode {
    DIRECT,
    WELFORD,
  };
  Status SetAxis(int n, const int* axes);
  Status SetEpsilon(double epsilon) {
    epsilon_ = epsilon;
    return Status::SUCCESS;
  }
  Status SetVarMode(VarMode mode) {
    var_mode_ = mode;
    return Status::SUCCESS;
  }
  Status Run(
      Handle& handle,
      Tensor& out,
      Tensor& mean,
      Tensor& rstd,
      const Tensor& in,
      const Tensor& gamma,
      const Tensor& beta,
      const MemoryMaintainer& maintainer);
  Status RunBwd(
      Handle& handle,
      Tensor& grad_in,
      Tensor& grad_gamma,
      Tensor& grad_beta,
      const Tensor& grad_out,
      const Tensor& in,
      const Tensor& mean,
      const Tensor& rstd,
      const Tensor& gamma,
      const MemoryMaintainer& maintainer);

 private:
  VarMode var_mode_ = VarMode::DIRECT;
  double epsilon_ = 1e-5;
  int count_ = 0;
  int axes_[8];
};

class MUDNN_EXPORT NLLLoss : public ImplBase {
 public:
  enum class Mode {
    NONE,
    MEAN,
    SUM,
    BATCHMEAN,
  };
  Status SetReductionMode(Mode mode) {
    mode_ = mode;
    return Status::SUCCESS;
  }
  Status SetIgnoreIndex(int64_t index) {
    ignore_index_ = index;
    return Status::SUCCESS;
  }
  Status Run(
      Handle& handle,
      Tensor& out,
      Tensor& total_weight,
      const Tensor& in,
      const Tensor& target,
      const Tensor& weight,
      const MemoryMaintainer& maintainer);
  Status RunBwd(
      Handle& handle,
      Tensor& grad_in,
      const Tensor& grad_out,
      const Tensor& target,
      const Tensor& weight,
      const Tensor& total_weight,
      const MemoryMaintainer& maintainer);

 private:
  Mode mode_ = Mode::MEAN;
  int64_t ignore_index_ = -100;
};

class MUDNN_EXPORT Dropout : public ImplBase {
 public:
  Status SetP(double p) {
    p_ = p;
    return Status::SUCCESS;
  }
  // Unset, the forward pass takes 1 / (1 - p).
  Status SetScale(double scale) {
    scale_ = scale;
    has_scale_ = true;
    return Status::SUCCESS;
  }
  Status SetSeed(uint64_t seed) {
    seed_ = seed;
    seed_pointer_ = nullptr;
    return Status::SUCCESS;
  }
  // In device memory, read when the work runs.
  Status SetSeed(uint64_t* seed) {
    seed_pointer_ = seed;
    return Status::SUCCESS;
  }
  Status SetOffset(uint64_t offset) {
    offset_ = offset;
    offset_pointer_ = nullptr;
    return Status::SUCCESS;
  }
  Status SetOffset(uint64_t* offset, uint64_t intra_graph_offset) {
    offset_pointer_ = offset;
    offset_ = intra_graph_offset;
    return Status::SUCCESS;
  }
  Status
  RunDropout(Handle& handle, Tensor& out, const Tensor& in, Tensor& mask);
  Status RunDropoutBwd(
      Handle& handle,
      Tensor& grad_in,
      const Tensor& grad_out,
      const Tensor& mask);

 private:
  double p_ = 0.5;
  double scale_ = 0;
  uint64_t seed_ = 0;
  uint64_t offset_ = 0;
  const uint64_t* seed_pointer_ = nullptr;
  const uint64_t* offset_pointer_ = nullptr;
  bool has_scale_ = false;
};

} // namespace portable_1
} // namespace musa::dnn
