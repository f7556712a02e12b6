// SPDX-License-Identifier: Apache-2.0
// Functions of two elements.
#include "csrc/kernels/math_special.h"

#include "csrc/kernels/math_table.h"

namespace torch_fl::kernels {
namespace {

// The greater, or the smaller, and a number before a NaN.
template <class C>
__host__ __device__ C fmax(C x, C y) {
  return is_nan(x) ? y : is_nan(y) || x > y ? x : y;
}
template <class C>
__host__ __device__ C fmin(C x, C y) {
  return is_nan(x) ? y : is_nan(y) || x < y ? x : y;
}

template <class C>
__host__ __device__ C absolute(C x) {
  if constexpr (std::is_signed_v<C>) {
    return x < C(0) ? static_cast<C>(-x) : x;
  } else {
    return x;
  }
}
template <class C>
__host__ __device__ C gcd(C x, C y) {
  x = absolute(x);
  y = absolute(y);
  while (x != C(0)) {
    const C rest = static_cast<C>(y % x);
    y = x;
    x = rest;
  }
  return y;
}
template <class C>
__host__ __device__ C lcm(C x, C y) {
  const C divisor = gcd(x, y);
  return divisor == C(0) ? C(0) : absolute(static_cast<C>(x / divisor * y));
}

template <class C>
__host__ __device__ C huber(C x, C y, C delta) {
  const C off = fabs(x - y);
  return off <= delta ? C(0.5) * off * off : delta * (off - C(0.5) * delta);
}
template <class C>
__host__ __device__ C smooth_l1(C x, C y, C beta) {
  const C off = fabs(x - y);
  return off < beta ? C(0.5) * off * off / beta : off - C(0.5) * beta;
}

// Logarithms are cut off at -100.
template <class C>
__host__ __device__ C cross_entropy(C x, C y) {
  const C log_x = log(x);
  const C log_rest = log1p(-x);
  return (y - C(1)) * (log_rest < C(-100) ? C(-100) : log_rest) -
      y * (log_x < C(-100) ? C(-100) : log_x);
}

// The power alone may overflow where the product does not.
__host__ __device__ inline float scaled(float x, float power) {
  return ::ldexpf(x, static_cast<int>(fmax(fmin(power, 9999.0F), -9999.0F)));
}
__host__ __device__ inline double scaled(double x, double power) {
  return ::ldexp(x, static_cast<int>(fmax(fmin(power, 9999.0), -9999.0)));
}

template <class C>
__host__ __device__ C logaddexp(C x, C y) {
  if (x == y && fabs(x) == Constant<C>::kInfinity) {
    return x;
  }
  return (x > y ? x : y) + log1p(exp(-fabs(x - y)));
}
template <class C>
__host__ __device__ C logaddexp2(C x, C y) {
  if (x == y && fabs(x) == Constant<C>::kInfinity) {
    return x;
  }
  return (x > y ? x : y) + log1p(exp2(-fabs(x - y))) * C(1.4426950408889634074);
}

template <class C>
__host__ __device__ C xlogy(C x, C y) {
  return is_nan(y) ? y : x == C(0) ? C(0) : x * log(y);
}
template <class C>
__host__ __device__ C xlog1py(C x, C y) {
  return is_nan(y) ? y : x == C(0) ? C(0) : x * log1p(y);
}

// Neighbours of 16-bit numbers are told apart in their own precision.
template <class T>
struct Nextafter {
  __host__ __device__ T operator()(T x, T y) const {
    if constexpr (sizeof(T) != 2) {
      return nextafter(x, y);
    } else {
      const auto from = static_cast<float>(x);
      const auto to = static_cast<float>(y);
      if (is_nan(from) || is_nan(to)) {
        return static_cast<T>(from + to);
      }
      if (from == to) {
        return y;
      }
      T next = x;
      if (from == 0.0F) {
        next.bits = to > 0.0F ? 1 : 0x8001;
      } else {
        next.bits = static_cast<uint16_t>(
            (from < to) == (from > 0.0F) ? x.bits + 1 : x.bits - 1);
      }
      return next;
    }
  }
};

template <class T>
musaError_t nextafter_of(const FlOperands& v, musaStream_t stream) {
  return binary<T>("nextafter", v, Nextafter<T>{}, stream);
}

} // namespace

FL_OF_TWO(kFlAtan2, "atan2", kFloats, atan2(x, y))
FL_OF_TWO(kFlBinaryCrossEntropy, "bce_loss", kFloats, cross_entropy(x, y))
FL_OF_TWO(kFlCopysign, "copysign", kFloats, copysign(x, y))
FL_OF_TWO(kFlFmax, "fmax", kAll, fmax(x, y))
FL_OF_TWO(kFlFmin, "fmin", kAll, fmin(x, y))
FL_OF_TWO(kFlGcd, "gcd", kIntegers, gcd(x, y))
FL_OF_TWO(kFlGlu, "glu", kFloats, x / (C(1) + exp(-y)))
FL_OF_TWO(
    kFlHeaviside,
    "heaviside",
    kAll,
    x == C(0)      ? y
        : x > C(0) ? C(1)
                   : C(0))
FL_OF_TWO(kFlHuber, "huber", kFloats, huber(x, y, p[0]))
FL_OF_TWO(kFlHypot, "hypot", kFloats, hypot(x, y))
FL_OF_TWO(kFlLerpNumber, "lerp", kFloats, lerp(x, y, p[0]))
FL_OF_TWO(kFlLcm, "lcm", kIntegers, lcm(x, y))
FL_OF_TWO(kFlLdexp, "ldexp", kFloats, scaled(x, y))
FL_OF_TWO(kFlLogaddexp, "logaddexp", kFloats, logaddexp(x, y))
FL_OF_TWO(kFlLogaddexp2, "logaddexp2", kFloats, logaddexp2(x, y))
FL_OF_TWO(kFlPower, "pow", kIntegers, power(x, y))
FL_OF_TWO(kFlPrelu, "prelu", kFloats, x > C(0) ? x : x * y)
FL_OF_TWO(kFlSmoothL1, "smooth_l1", kFloats, smooth_l1(x, y, p[0]))
FL_OF_TWO(kFlXlog1py, "xlog1py", kFloats, xlog1py(x, y))
FL_OF_TWO(kFlXlogy, "xlogy", kFloats, xlogy(x, y))
FL_OF_TWO(kFlZeta, "zeta", kFloats, zeta(x, y))

} // namespace torch_fl::kernels

musaError_t fl_binary(
    FlBinary op,
    FlKernelType type,
    const FlOperands* operands,
    const FlMath* math,
    musaStream_t stream) {
  return torch_fl::kernels::call<2, kFlBinaryCount>(
      op,
      torch_fl::kernels::ElementCall{type, *operands, *math, stream});
}

musaError_t fl_nextafter(
    FlKernelType type,
    const FlOperands* operands,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  switch (type) {
  case kFlHalf:
    return k::nextafter_of<k::Half>(*operands, stream);
  case kFlBfloat16:
    return k::nextafter_of<k::Bfloat16>(*operands, stream);
  case kFlFloat:
    return k::nextafter_of<float>(*operands, stream);
  case kFlDouble:
    return k::nextafter_of<double>(*operands, stream);
  default:
    return musaErrorInvalidValue;
  }
}
