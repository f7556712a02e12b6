// SPDX-License-Identifier: Apache-2.0
// Functions of one element: short formulas.
#include "csrc/kernels/math_functions.h"
#include "csrc/kernels/math_table.h"

namespace torch_fl::kernels {
namespace {

template <class C>
__host__ __device__ C log_sigmoid(C x) {
  return (x < C(0) ? x : C(0)) - log1p(exp(-fabs(x)));
}

template <class C>
__host__ __device__ C logit(C x, C epsilon) {
  if (epsilon >= C(0)) {
    const C high = C(1) - epsilon;
    x = x < epsilon ? epsilon : x > high ? high : x;
  }
  return log(x / (C(1) - x));
}

template <class C>
__host__ __device__ C round_to(C x, int decimals) {
  const C scale = pow(C(10), C(decimals < 0 ? -decimals : decimals));
  return decimals < 0 ? nearbyint(x / scale) * scale
                      : nearbyint(x * scale) / scale;
}

template <class C>
__host__ __device__ C sinc(C x) {
  const C turned = Constant<C>::kPi * x;
  return x == C(0) ? C(1) : sin(turned) / turned;
}

template <class C>
__host__ __device__ C softplus(C x, C beta, C threshold) {
  return x * beta > threshold ? x : log1p(exp(x * beta)) / beta;
}

template <class C>
__host__ __device__ C softshrink(C x, C lambda) {
  // Zero times a NaN is a NaN.
  return x > lambda ? x - lambda : x < -lambda ? x + lambda : x * C(0);
}

template <class C>
__host__ __device__ C nan_to_num(C x, const C* p) {
  return is_nan(x)                   ? p[0]
      : x == Constant<C>::kInfinity  ? p[1]
      : x == -Constant<C>::kInfinity ? p[2]
                                     : x;
}

template <class C>
__host__ __device__ C angle(C x) {
  return is_nan(x) ? x : x < C(0) ? Constant<C>::kPi : C(0);
}

} // namespace

FL_OF_ONE(kFlAcosh, "acosh", kFloats, acosh(x))
FL_OF_ONE(kFlAngle, "angle", kFloats, angle(x))
FL_OF_ONE(kFlAsin, "asin", kFloats, asin(x))
FL_OF_ONE(kFlAsinh, "asinh", kFloats, asinh(x))
FL_OF_ONE(kFlAtanh, "atanh", kFloats, atanh(x))
FL_OF_ONE(kFlCosh, "cosh", kFloats, cosh(x))
FL_OF_ONE(kFlElu, "elu", kFloats, x < C(0) ? expm1(x * p[2]) * p[0] : x * p[1])
FL_OF_ONE(kFlExp2, "exp2", kFloats, exp2(x))
FL_OF_ONE(kFlExpm1, "expm1", kFloats, expm1(x))
FL_OF_ONE(kFlErfc, "erfc", kFloats, erfc(x))
FL_OF_ONE(kFlFrac, "frac", kFloats, x - trunc(x))
FL_OF_ONE(
    kFlHardshrink,
    "hardshrink",
    kFloats,
    x >= -p[0] && x <= p[0] ? C(0) : x)
FL_OF_ONE(kFlLogSigmoid, "log_sigmoid", kFloats, log_sigmoid(x))
FL_OF_ONE(kFlLogit, "logit", kFloats, logit(x, p[0]))
FL_OF_ONE(kFlNanToNum, "nan_to_num", kFloats, nan_to_num(x, p))
FL_OF_ONE(kFlPowerNumber, "pow", kIntegers, power(x, p[0]))
FL_OF_ONE(kFlRoundTo, "round", kFloats, round_to(x, static_cast<int>(p[0])))
FL_OF_ONE(kFlSinc, "sinc", kFloats, sinc(x))
FL_OF_ONE(kFlSinh, "sinh", kFloats, sinh(x))
FL_OF_ONE(kFlSoftplus, "softplus", kFloats, softplus(x, p[0], p[1]))
FL_OF_ONE(kFlSoftshrink, "softshrink", kFloats, softshrink(x, p[0]))
FL_OF_ONE(kFlThreshold, "threshold", kAll, x <= p[0] ? p[1] : x)

namespace {

template <class T>
struct Signbit {
  using C = typename ComputedIn<T>::Type;
  __host__ __device__ uint8_t operator()(T x) const {
    const auto value = static_cast<C>(x);
    if constexpr (std::is_integral_v<C>) {
      return std::is_signed_v<C> && value < 0 ? 1 : 0;
    } else {
      return copysign(C(1), value) < C(0) ? 1 : 0;
    }
  }
};

template <class T>
musaError_t signbit_of(const FlOperands& v, musaStream_t stream) {
  return elementwise<1, T, uint8_t>("signbit", v, Signbit<T>{}, stream);
}

} // namespace
} // namespace torch_fl::kernels

musaError_t fl_unary(
    FlUnary op,
    FlKernelType type,
    const FlOperands* operands,
    const FlMath* math,
    musaStream_t stream) {
  return torch_fl::kernels::call<1, kFlUnaryCount>(
      op,
      torch_fl::kernels::ElementCall{type, *operands, *math, stream});
}

musaError_t
fl_signbit(FlKernelType type, const FlOperands* operands, musaStream_t stream) {
  namespace k = torch_fl::kernels;
  switch (type) {
  case kFlBool:
  case kFlUint8:
    return k::signbit_of<uint8_t>(*operands, stream);
  case kFlInt8:
    return k::signbit_of<int8_t>(*operands, stream);
  case kFlInt16:
    return k::signbit_of<int16_t>(*operands, stream);
  case kFlInt32:
    return k::signbit_of<int32_t>(*operands, stream);
  case kFlInt64:
    return k::signbit_of<int64_t>(*operands, stream);
  case kFlHalf:
    return k::signbit_of<k::Half>(*operands, stream);
  case kFlBfloat16:
    return k::signbit_of<k::Bfloat16>(*operands, stream);
  case kFlFloat:
    return k::signbit_of<float>(*operands, stream);
  case kFlDouble:
    return k::signbit_of<double>(*operands, stream);
  default:
    return musaErrorInvalidValue;
  }
}
