// SPDX-License-Identifier: Apache-2.0
// Functions of elements that muDNN has no mode for.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

// Numbers of a function, such as a slope; each kind where the type wants it.
struct FlNumber {
  double real;
  int64_t integer;
};
constexpr int kFlNumbers = 4;
struct FlMath {
  FlNumber numbers[kFlNumbers];
};

// One operand. Floats, in single precision for 16-bit types; those marked *
// take integers and BOOL too. In brackets: the numbers.
enum FlUnary : int32_t {
  kFlAcosh,
  kFlAngle, // of a real number
  kFlAsin,
  kFlAsinh,
  kFlAtanh,
  kFlCosh,
  kFlElu, // [negative slope, positive slope, slope of the argument]
  kFlExp2,
  kFlExpm1,
  kFlErfc,
  kFlFrac,
  kFlHardshrink, // [lambda]
  kFlLogSigmoid,
  kFlLogit,       // [epsilon, negative for none]
  kFlNanToNum,    // [for NaN, for +inf, for -inf]
  kFlPowerNumber, // [exponent, not negative]; integers only
  kFlRoundTo,     // [decimals]
  kFlSinc,
  kFlSinh,
  kFlSoftplus,   // [beta, threshold]
  kFlSoftshrink, // [lambda]
  kFlThreshold,  // * [threshold, value]
  kFlUnaryCount,
};

// One operand, longer formulas.
enum FlSpecial : int32_t {
  kFlDigamma,
  kFlEntr,
  kFlErfcx,
  kFlErfinv,
  kFlI0,
  kFlI0e,
  kFlI1,
  kFlI1e,
  kFlLgamma,
  kFlLogNdtr,
  kFlNdtri,
  kFlPolygamma, // [order, at least 1]
  kFlSpecialCount,
};

// Two operands.
enum FlBinary : int32_t {
  kFlAtan2,
  kFlCopysign,
  kFlFmax,      // *
  kFlFmin,      // *
  kFlGcd,       // integers only
  kFlGlu,       // value, gate
  kFlHeaviside, // *
  kFlHuber,     // [delta]
  kFlHypot,
  kFlLcm,        // integers only
  kFlLdexp,      // x, a whole power of two
  kFlLerpNumber, // [weight]: from, to
  kFlLogaddexp,
  kFlLogaddexp2,
  kFlPower,    // integers only
  kFlPrelu,    // input, slope
  kFlSmoothL1, // [beta]
  kFlXlog1py,
  kFlXlogy,
  kFlZeta,
  kFlBinaryCrossEntropy, // input, target
  kFlBinaryCount,
};

// Gradients of activations: gradient, input.
enum FlGradient : int32_t {
  kFlEluGradient,       // [the three of kFlElu]
  kFlEluResultGradient, // the same from the result
  kFlGluGateGradient,   // gradient, gate: of the value
  kFlHardsigmoidGradient,
  kFlHardswishGradient,
  kFlHardtanhGradient, // [lowest, highest]
  kFlLogSigmoidGradient,
  kFlLogitGradient, // [epsilon, negative for none]
  kFlMishGradient,
  kFlPreluSlopeGradient,
  kFlShrinkGradient,   // [lambda], of either shrink
  kFlSoftplusGradient, // [beta, threshold]
  kFlGradientCount,
};

// Three operands.
enum FlTernary : int32_t {
  kFlAddcdiv,                    // [value]: a + value * b / c
  kFlAddcmul,                    // * [value]: a + value * b * c
  kFlBinaryCrossEntropyGradient, // gradient, input, target
  kFlGluGradient,                // gradient, value, gate: of the gate
  kFlHuberGradient,              // [norm, delta]: input, target, gradient
  kFlLerp,                       // from, to, weight
  kFlPreluGradient,              // gradient, input, slope: of the input
  kFlSmoothL1Gradient,           // [norm, beta]: input, target, gradient
  kFlTernaryCount,
};

// All operands are of `type`. musaErrorInvalidValue for a type that the
// function does not take.
FL_KERNEL_API musaError_t fl_unary(
    FlUnary op,
    FlKernelType type,
    const FlOperands* operands,
    const FlMath* math,
    musaStream_t stream);
FL_KERNEL_API musaError_t fl_special(
    FlSpecial op,
    FlKernelType type,
    const FlOperands* operands,
    const FlMath* math,
    musaStream_t stream);
FL_KERNEL_API musaError_t fl_binary(
    FlBinary op,
    FlKernelType type,
    const FlOperands* operands,
    const FlMath* math,
    musaStream_t stream);
FL_KERNEL_API musaError_t fl_gradient(
    FlGradient op,
    FlKernelType type,
    const FlOperands* operands,
    const FlMath* math,
    musaStream_t stream);
FL_KERNEL_API musaError_t fl_ternary(
    FlTernary op,
    FlKernelType type,
    const FlOperands* operands,
    const FlMath* math,
    musaStream_t stream);
FL_KERNEL_API musaError_t fl_nextafter(
    FlKernelType type,
    const FlOperands* operands,
    musaStream_t stream);
// out (BOOL) = the sign of in, of -0.0 and NaN too.
FL_KERNEL_API musaError_t
fl_signbit(FlKernelType type, const FlOperands* operands, musaStream_t stream);
