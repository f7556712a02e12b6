// SPDX-License-Identifier: Apache-2.0
// Plain types of the engine's operator families: operands, modes, arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace musa_standin::engine {

// The order of musa::dnn::Tensor::Type.
enum class Dtype : uint8_t {
  kFloat,
  kHalf,
  kBfloat16,
  kDouble,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBool,
  kQint8,
  kQint4,
  kFp8E4m3,
  kFp8E5m2,
};

// The order of musa::dnn::Tensor::Format.
enum class Layout : uint8_t {
  kUnknown,
  kNcw,
  kNwc,
  kNchw,
  kNhwc,
  kHwcn,
  kNcdhw,
  kNdhwc,
  kDhwcn,
};

constexpr int kMaxRank = 8;

// Bytes of an element; 0 for types without whole bytes.
constexpr int64_t element_bytes(Dtype type) {
  switch (type) {
  case Dtype::kDouble:
  case Dtype::kInt64:
  case Dtype::kUint64:
    return 8;
  case Dtype::kFloat:
  case Dtype::kInt32:
  case Dtype::kUint32:
    return 4;
  case Dtype::kHalf:
  case Dtype::kBfloat16:
  case Dtype::kInt16:
  case Dtype::kUint16:
    return 2;
  case Dtype::kQint4:
    return 0;
  default:
    return 1;
  }
}

constexpr bool is_floating(Dtype type) {
  return type <= Dtype::kDouble;
}

constexpr bool is_integral(Dtype type) {
  return type >= Dtype::kInt8 && type <= Dtype::kUint64;
}

// An operand. dims and strides (in elements) point into the caller's tensor
// and are valid during the call only: a task copies what it needs. rank 0
// means that the operand is absent (it may still carry a type).
struct View {
  void* address = nullptr;
  const int64_t* dims = nullptr;
  const int64_t* strides = nullptr;
  int64_t numel = 0;
  int32_t rank = 0;
  Dtype dtype = Dtype::kFloat;
  Layout layout = Layout::kNchw;
  bool dense = true;  // row-major without gaps
  float scale = 1.0F; // of quantised types

  [[nodiscard]] bool present() const { return rank > 0 && address != nullptr; }
};

// A parameter as the caller's eight bytes: read as int64 for integral and BOOL
// operands, as double for floating ones.
struct Scalar {
  uint64_t bits = 0;
  [[nodiscard]] double as_double() const {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  [[nodiscard]] int64_t as_int64() const { return static_cast<int64_t>(bits); }
};

// Device memory that the caller's maintainer gave.
struct Workspace {
  void* address = nullptr;
  size_t bytes = 0;
};

// The order of musa::dnn::Unary::Mode.
enum class UnaryMode : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kTrueDiv,
  kFloorDiv,
  kTruncDiv,
  kFloorMod,
  kTruncMod,
  kSubByAlpha,
  kDivByAlpha,
  kTrueDivByAlpha,
  kFloorDivByAlpha,
  kTruncDivByAlpha,
  kPow,
  kMax,
  kMin,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kIsNan,
  kIsInf,
  kIsFinite,
  kIsNonzero,
  kAbs,
  kSign,
  kSqrt,
  kRsqrt,
  kSquare,
  kReciprocal,
  kExp,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAcos,
  kAtan,
  kTanh,
  kErf,
  kCeil,
  kFloor,
  kRound,
  kSigmoid,
  kRelu,
  kRelu6,
  kSilu,
  kSwish,
  kMish,
  kHardSwish,
  kHardSigmoid,
  kLeakyRelu,
  kElu,
  kSoftplus,
  kClip,
  kGelu,
  kGeluTanh,
  kIdentity,
  kCast,
};

// The order of musa::dnn::Binary::Mode.
enum class BinaryMode : uint8_t {
  kAdd,
  kSub,
  kMul,
  kMax,
  kMin,
  kAddAlpha,
  kSubAlpha,
  kDiv,
  kTrueDiv,
  kFloorDiv,
  kTruncDiv,
  kFloorMod,
  kTruncMod,
  kDivNoNan,
  kPow,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kPrelu,
  kSigmoidBw,
  kTanhBw,
  kSiluBw,
  kGeluBw,
  kGeluTanhBw,
  kThresholdBw,
  kLeakyReluBw,
  kRelu6Bw,
  kRsqrtBw,
  kSquaredDiff,
};

// The order of musa::dnn::Ternary::Mode.
enum class TernaryMode : uint8_t {
  kSelect,
  kSelectV2,
  kAddcmul,
  kAddcmulAlpha,
  kAddcdiv,
  kAddcdivAlpha,
  kClamp,
};

// The order of musa::dnn::Reduce::Mode.
enum class ReduceMode : uint8_t {
  kMax,
  kAdd,
  kMul,
  kMean,
  kMin,
  kProd,
  kAnd,
  kNorm,
  kOr,
  kMulNoZeros,
  kL2Loss,
  kMaxUnstable,
  kMinUnstable,
  kVariance,
  kStd,
};

enum class CumMode : uint8_t { kAdd, kMul };
enum class GatherMode : uint8_t { kSlices, kElements, kNd };
enum class ScatterMode : uint8_t { kUpdate, kAdd, kSub, kMul };
enum class SoftmaxMode : uint8_t { kSoftmax, kLogSoftmax, kLogSumExp };
enum class PoolingMode : uint8_t {
  kMax,
  kAverageCountPad,
  kAverageWithoutPad,
  kGlobalAverage,
  kAdaptiveMax,
  kAdaptiveAverage,
};
enum class LossReduction : uint8_t { kNone, kMean, kSum, kBatchMean };
enum class Activation : uint8_t {
  kIdentity,
  kSigmoid,
  kRelu,
  kTanh,
  kClippedRelu,
  kElu,
  kHardSwish,
  kSilu,
};

// Either result may be absent. Reduced axes are bits of `axes`; the extents of
// out that remain are in's in order, with or without ones for the others.
struct ReduceArgs {
  ReduceMode mode = ReduceMode::kAdd;
  uint32_t axes = 0;
  int32_t correction = 1;
  float order = 2.0F;
  View out;
  View indices;
  View in;
  Workspace workspace; // less is enough, none too
};

struct SortArgs {
  int dim = 0;
  bool descending = false;
  bool stable = false;
  View values;
  View indices;
  View in;
  Workspace workspace;
};

struct TopkArgs {
  int64_t k = 1;
  int dim = 0;
  bool largest = true;
  bool sorted = true;
  View values;
  View indices;
  View in;
  Workspace workspace;
};

// d = alpha * op(a) * op(b) + beta * c + gamma * bias. Rank 2 or, batched,
// rank 3; c and bias may be absent; tf32 rounds FLOAT inputs to 10 bits.
struct MatmulArgs {
  View d;
  View a;
  View b;
  View c;
  View bias;
  double alpha = 1;
  double beta = 0;
  double gamma = 1;
  bool transpose_a = false;
  bool transpose_b = false;
  bool tf32 = false;
  Workspace workspace;
};

// Forward: out, in, filter; backward: the gradients stand in the same places.
struct ConvolutionArgs {
  View out;
  View in;
  View filter;
  View bias;
  View add;
  int spatial = 0;
  int groups = 1;
  int pad[3] = {0, 0, 0};
  int stride[3] = {1, 1, 1};
  int dilation[3] = {1, 1, 1};
  int algorithm = 0;
  bool tf32 = false;
  Activation activation = Activation::kIdentity;
  double coef[3] = {0, 0, 0};
  Workspace workspace;
};

// Backward: in and out are the gradients.
struct PoolingArgs {
  PoolingMode mode = PoolingMode::kMax;
  View out;
  View in;
  View indices;
  int spatial = 0;
  int divisor = 0;
  int kernel[3] = {1, 1, 1};
  int pad[3] = {0, 0, 0};
  int stride[3] = {1, 1, 1};
  int dilation[3] = {1, 1, 1};
};

// Training fills save_mean and save_invstd and moves the running statistics;
// inference reads running_mean and running_var.
struct BatchNormArgs {
  bool per_activation = false;
  double epsilon = 1e-5;
  double momentum = 0.1;
  View out;
  View in;
  View running_mean;
  View running_var;
  View save_mean;
  View save_invstd;
  View gamma;
  View beta;
  Workspace workspace;
};

// Adds to its outputs.
struct BatchNormBackwardArgs {
  bool per_activation = false;
  bool training = true;
  double epsilon = 1e-5;
  View grad_in;
  View grad_mean;
  View grad_var;
  View grad_gamma;
  View grad_beta;
  View in;
  View grad_out;
  View mean;
  View invstd;
  View gamma;
  Workspace workspace;
};

// Rows are the product of the leading extents, columns of the trailing ones.
struct LayerNormArgs {
  int64_t rows = 0;
  int64_t columns = 0;
  double epsilon = 1e-5;
  View out;
  View mean;
  View rstd;
  View in;
  View gamma;
  View beta;
  Workspace workspace;
};

struct LayerNormBackwardArgs {
  int64_t rows = 0;
  int64_t columns = 0;
  View grad_in;
  View grad_gamma;
  View grad_beta;
  View grad_out;
  View in;
  View mean;
  View rstd;
  View gamma;
  Workspace workspace;
};

struct NllLossArgs {
  LossReduction reduction = LossReduction::kMean;
  int64_t ignore_index = -100;
  View out; // grad_in in the backward pass
  View in;  // grad_out in the backward pass
  View total_weight;
  View target;
  View weight;
  Workspace workspace;
};

// seed and offset are read from device memory where a pointer is given; the
// offset value is then added to what it points at.
struct DropoutArgs {
  double p = 0.5;
  double scale = 1;
  uint64_t seed = 0;
  uint64_t offset = 0;
  const uint64_t* seed_pointer = nullptr;
  const uint64_t* offset_pointer = nullptr;
  View out;
  View in;
  View mask;
};

// out = softmax(scale * query * key^T + mask) * value; [N, H, L, E] by any
// strides, key and value with as many heads or a divisor. mask may be absent:
// BOOL (true: seen), floating (added), with strides of 0 where it repeats.
// lse: FLOAT [N, H, L], dense.
struct AttentionArgs {
  View out;
  View lse;
  View query;
  View key;
  View value;
  View mask;
  double scale = 1;
  bool causal = false; // position i sees keys up to i
  Workspace workspace;
};

struct AttentionBackwardArgs {
  View grad_query;
  View grad_key;
  View grad_value;
  View grad_out;
  AttentionArgs forward; // with the results of the forward pass
  bool deterministic = false;
  Workspace workspace;
};

} // namespace musa_standin::engine
