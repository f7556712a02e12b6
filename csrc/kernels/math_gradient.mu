// SPDX-License-Identifier: Apache-2.0
// Gradients of activations and losses, and other functions of three elements.
#include "csrc/kernels/math_functions.h"
#include "csrc/kernels/math_table.h"

namespace torch_fl::kernels {
namespace {

template <class C>
__host__ __device__ C sigmoid(C x) {
  return C(1) / (C(1) + exp(-x));
}

// x: the gradient, y: the input, in all of these.
template <class C>
__host__ __device__ C elu_gradient(C x, C y, const C* p) {
  return y <= C(0) ? x * p[2] * p[0] * exp(y * p[2]) : x * p[1];
}
template <class C>
__host__ __device__ C elu_result_gradient(C x, C y, const C* p) {
  return y <= C(0) ? x * p[2] * (y + p[0]) : x * p[1];
}

template <class C>
__host__ __device__ C hardswish_gradient(C x, C y) {
  return y <= C(-3) ? C(0) : y < C(3) ? x * (y / C(3) + C(0.5)) : x;
}

template <class C>
__host__ __device__ C logit_gradient(C x, C y, C epsilon) {
  const C slope = x / (y * (C(1) - y));
  if (epsilon >= C(0)) {
    return y < epsilon || y > C(1) - epsilon ? C(0) : slope;
  }
  if (y < C(0) || y > C(1)) {
    return Constant<C>::kInfinity - Constant<C>::kInfinity;
  }
  return y == C(0) || y == C(1) ? x * Constant<C>::kInfinity : slope;
}

template <class C>
__host__ __device__ C mish_gradient(C x, C y) {
  const C bent = tanh(log1p(exp(y)));
  return x * (bent + y * sigmoid(y) * (C(1) - bent * bent));
}

template <class C>
__host__ __device__ C softplus_gradient(C x, C y, C beta, C threshold) {
  const C grown = exp(y * beta);
  return y * beta > threshold ? x : x * grown / (grown + C(1));
}

// x: the input, y: the target, z: the gradient.
template <class C>
__host__ __device__ C huber_gradient(C x, C y, C z, C norm, C delta) {
  const C off = x - y;
  return off < -delta ? -norm * z * delta
      : off > delta   ? norm * z * delta
                      : norm * off * z;
}
template <class C>
__host__ __device__ C smooth_l1_gradient(C x, C y, C z, C norm, C beta) {
  const C off = x - y;
  return off <= -beta ? -norm * z
      : off >= beta   ? norm * z
                      : norm * off * z / beta;
}

// x: the gradient, y: the input, z: the target.
template <class C>
__host__ __device__ C cross_entropy_gradient(C x, C y, C z) {
  const C width = (C(1) - y) * y;
  return x * (y - z) / (width < C(1e-12) ? C(1e-12) : width);
}

// z: the gate.
template <class C>
__host__ __device__ C glu_gradient(C x, C y, C z) {
  const C open = sigmoid(z);
  return x * y * open * (C(1) - open);
}

} // namespace

FL_OF_TWO(kFlEluGradient, "elu_backward", kFloats, elu_gradient(x, y, p))
FL_OF_TWO(
    kFlEluResultGradient,
    "elu_backward",
    kFloats,
    elu_result_gradient(x, y, p))
FL_OF_TWO(kFlGluGateGradient, "glu_backward", kFloats, x* sigmoid(y))
FL_OF_TWO(
    kFlHardsigmoidGradient,
    "hardsigmoid_backward",
    kFloats,
    y > C(-3) && y < C(3) ? x / C(6) : C(0))
FL_OF_TWO(
    kFlHardswishGradient,
    "hardswish_backward",
    kFloats,
    hardswish_gradient(x, y))
FL_OF_TWO(
    kFlHardtanhGradient,
    "hardtanh_backward",
    kFloats,
    y <= p[0] || y >= p[1] ? C(0) : x)
FL_OF_TWO(
    kFlLogSigmoidGradient,
    "log_sigmoid_backward",
    kFloats,
    x* sigmoid(-y))
FL_OF_TWO(
    kFlLogitGradient,
    "logit_backward",
    kFloats,
    logit_gradient(x, y, p[0]))
FL_OF_TWO(kFlMishGradient, "mish_backward", kFloats, mish_gradient(x, y))
FL_OF_TWO(
    kFlPreluSlopeGradient,
    "prelu_backward",
    kFloats,
    y > C(0) ? C(0) : x * y)
FL_OF_TWO(
    kFlShrinkGradient,
    "shrink_backward",
    kFloats,
    y >= -p[0] && y <= p[0] ? C(0) : x)
FL_OF_TWO(
    kFlSoftplusGradient,
    "softplus_backward",
    kFloats,
    softplus_gradient(x, y, p[0], p[1]))

FL_OF_THREE(kFlAddcdiv, "addcdiv", kFloats, x + p[0] * (y / z))
FL_OF_THREE(kFlAddcmul, "addcmul", kAll, static_cast<C>(x + p[0] * y * z))
FL_OF_THREE(
    kFlBinaryCrossEntropyGradient,
    "bce_loss_backward",
    kFloats,
    cross_entropy_gradient(x, y, z))
FL_OF_THREE(kFlGluGradient, "glu_backward", kFloats, glu_gradient(x, y, z))
FL_OF_THREE(
    kFlHuberGradient,
    "huber_backward",
    kFloats,
    huber_gradient(x, y, z, p[0], p[1]))
FL_OF_THREE(kFlLerp, "lerp", kFloats, lerp(x, y, z))
FL_OF_THREE(kFlPreluGradient, "prelu_backward", kFloats, y > C(0) ? x : x * z)
FL_OF_THREE(
    kFlSmoothL1Gradient,
    "smooth_l1_backward",
    kFloats,
    smooth_l1_gradient(x, y, z, p[0], p[1]))

} // namespace torch_fl::kernels

musaError_t fl_gradient(
    FlGradient op,
    FlKernelType type,
    const FlOperands* operands,
    const FlMath* math,
    musaStream_t stream) {
  return torch_fl::kernels::call<2, kFlGradientCount>(
      op,
      torch_fl::kernels::ElementCall{type, *operands, *math, stream});
}

musaError_t fl_ternary(
    FlTernary op,
    FlKernelType type,
    const FlOperands* operands,
    const FlMath* math,
    musaStream_t stream) {
  return torch_fl::kernels::call<3, kFlTernaryCount>(
      op,
      torch_fl::kernels::ElementCall{type, *operands, *math, stream});
}
