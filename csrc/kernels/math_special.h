// SPDX-License-Identifier: Apache-2.0
// Special functions, of float or double, from their series and expansions.
#pragma once

#include "csrc/kernels/math_functions.h"

namespace torch_fl::kernels {

// Logarithmic derivative of gamma: recurrence up to 10, then its expansion by
// Bernoulli numbers.
template <class C>
__host__ __device__ C digamma(C x) {
  if (x == C(0)) {
    return copysign(Constant<C>::kInfinity, -x);
  }
  C sum = C(0);
  if (x < C(0)) {
    const C rest = x - nearbyint(x); // exact, so that poles are sharp
    if (rest == C(0)) {
      return Constant<C>::kInfinity - Constant<C>::kInfinity;
    }
    sum = -Constant<C>::kPi / tan(Constant<C>::kPi * rest);
    x = C(1) - x;
  }
  while (x < C(10)) {
    sum -= C(1) / x;
    x += C(1);
  }
  const C z = C(1) / (x * x);
  const C series = z *
      (C(1) / 12 -
       z *
           (C(1) / 120 -
            z *
                (C(1) / 252 -
                 z *
                     (C(1) / 240 -
                      z *
                          (C(1) / 132 -
                           z * (C(691) / 32760 - z * (C(1) / 12)))))));
  return sum + log(x) - C(0.5) / x - series;
}

// sum over k >= 0 of (k + q)^-x, by Euler and Maclaurin.
template <class C>
__host__ __device__ C zeta(C x, C q) {
  if (x == C(1)) {
    return Constant<C>::kInfinity;
  }
  if (x < C(1)) {
    return Constant<C>::kInfinity - Constant<C>::kInfinity;
  }
  if (q <= C(0)) {
    if (q == floor(q)) {
      return Constant<C>::kInfinity;
    }
    if (x != floor(x)) { // q^-x is not real
      return Constant<C>::kInfinity - Constant<C>::kInfinity;
    }
  }
  C sum = pow(q, -x);
  C at = q;
  C term = C(0);
  for (int k = 0; k < 9 || at <= C(9); ++k) {
    at += C(1);
    term = pow(at, -x);
    sum += term;
    if (fabs(term) < precision(C(0)) * fabs(sum)) {
      return sum;
    }
  }
  sum += term * at / (x - C(1)) - C(0.5) * term;
  // (2k)! / B_2k
  const C divisors[] = {
      C(12.0),
      C(-720.0),
      C(30240.0),
      C(-1209600.0),
      C(47900160.0),
      C(-1.307674368e12 / 691),
      C(7.47242496e10),
      C(-1.067062284288e16 / 3617),
      C(5.109094217170944e18 / 43867),
      C(-8.028576626982912e20 / 174611),
      C(1.5511210043330985984e23 / 854513),
      C(-1.6938241367317436694528e27 / 236364091)};
  C rising = C(1);
  C power = term;
  C step = C(0);
  for (const C divisor : divisors) {
    rising *= x + step;
    power /= at;
    const C part = rising * power / divisor;
    sum += part;
    if (fabs(part) < precision(C(0)) * fabs(sum)) {
      break;
    }
    step += C(1);
    rising *= x + step;
    power /= at;
    step += C(1);
  }
  return sum;
}

// Derivative `order` >= 1 of digamma.
template <class C>
__host__ __device__ C polygamma(C x, int order) {
  if (order == 1 && x < C(0.5)) {
    const C s = sin(Constant<C>::kPi * (x - nearbyint(x)));
    return Constant<C>::kPi * Constant<C>::kPi / (s * s) - zeta(C(2), C(1) - x);
  }
  const C sign = order % 2 == 0 ? C(-1) : C(1);
  return sign * exp(lgamma(C(order) + C(1))) * zeta(C(order) + C(1), x);
}

// e^(x^2), with the rounding error of the square.
template <class C>
__host__ __device__ C exp_square(C x) {
  const C square = x * x;
  const C value = exp(square);
  return square > C(1000) ? value : value * (C(1) + fma(x, x, -square));
}

// e^(x^2) erfc(x): a continued fraction where the product would lose digits.
template <class C>
__host__ __device__ C erfcx(C x) {
  const C far = sizeof(C) == 4 ? C(2) : C(5);
  if (!(x > far)) {
    return exp_square(x) * erfc(x);
  }
  C below = x;
  for (int k = 60; k > 0; --k) {
    below = x + C(0.5) * C(k) / below;
  }
  return C(0.56418958354775628695) / below;
}

// y >= 0 with erfc(y) = q, for q in (0, 1]: a start, then Halley's steps.
template <class C>
__host__ __device__ C erfc_inverse(C q) {
  const C length = -log(q * (C(2) - q));
  C y = sqrt(length);
  if (length > C(5)) {
    // erfc(y) is about e^(-y^2) / (y sqrt(pi)).
    const C target = -log(q) - C(0.57236494292470008707);
    for (int k = 0; k < 4; ++k) {
      y = sqrt(target - log(y));
    }
  } else {
    // Winitzki's start.
    const C a = C(0.147);
    const C half = C(2) / (Constant<C>::kPi * a) - C(0.5) * length;
    y = sqrt(sqrt(half * half + length / a) - half);
  }
  for (int k = 0; k < 3; ++k) {
    const C slope = C(1.1283791670955125739) * exp(-y * y);
    const C step = (q - erfc(y)) / slope;
    y -= step / (C(1) + y * step);
  }
  return y;
}

template <class C>
__host__ __device__ C erfinv(C x) {
  const C size = fabs(x);
  if (size == C(1)) {
    return copysign(Constant<C>::kInfinity, x);
  }
  if (!(size < C(1))) {
    return Constant<C>::kInfinity - Constant<C>::kInfinity;
  }
  if (size > C(0.5)) {
    return copysign(erfc_inverse(C(1) - size), x);
  }
  C y = C(0.88622692545275801365) * x;
  for (int k = 0; k < 4; ++k) {
    const C slope = C(1.1283791670955125739) * exp(-y * y);
    const C step = (erf(y) - x) / slope;
    y -= step / (C(1) + y * step);
  }
  return y;
}

// The normal distribution's quantile.
template <class C>
__host__ __device__ C ndtri(C p) {
  constexpr C kRoot2 = C(1.4142135623730950488);
  if (p == C(0)) {
    return -Constant<C>::kInfinity;
  }
  if (p == C(1)) {
    return Constant<C>::kInfinity;
  }
  if (!(p > C(0) && p < C(1))) {
    return Constant<C>::kInfinity - Constant<C>::kInfinity;
  }
  if (p < C(0.25)) {
    return -kRoot2 * erfc_inverse(C(2) * p);
  }
  if (p > C(0.75)) {
    return kRoot2 * erfc_inverse(C(2) * (C(1) - p));
  }
  return kRoot2 * erfinv(C(2) * p - C(1));
}

template <class C>
__host__ __device__ C log_ndtr(C x) {
  const C t = x * C(0.70710678118654752440);
  return x < C(-1) ? log(erfcx(-t) / C(2)) - t * t : log1p(-erfc(t) / C(2));
}

template <class C>
__host__ __device__ C entr(C x) {
  return is_nan(x) ? x
      : x > C(0)   ? -x * log(x)
      : x == C(0)  ? C(0)
                   : -Constant<C>::kInfinity;
}

// Modified Bessel functions of order 0 or 1 times e^-|x|: their series, far out
// their expansion in 1/x.
template <int order, class C>
__host__ __device__ C scaled_bessel_i(C x) {
  const C size = fabs(x);
  C sum = C(1);
  C term = C(1);
  if (size <= C(15)) {
    const C quarter = size * size / C(4);
    for (int k = 1; k < 60 && term > precision(C(0)) * sum; ++k) {
      term *= quarter / (C(k) * C(k + order));
      sum += term;
    }
    return exp(-size) * sum * (order == 1 ? x / C(2) : C(1));
  }
  for (int k = 1; k < 30 && fabs(term) > precision(C(0)); ++k) {
    const C odd = C(2 * k - 1);
    term *= (odd * odd - C(4 * order)) / (C(8 * k) * size);
    sum += term;
  }
  const C value = sum / sqrt(C(2) * Constant<C>::kPi * size);
  return order == 1 ? copysign(value, x) : value;
}

template <int order, class C>
__host__ __device__ C bessel_i(C x) {
  // In two steps: e^|x| alone overflows earlier.
  const C half = exp(fabs(x) / C(2));
  return half * scaled_bessel_i<order>(x) * half;
}

} // namespace torch_fl::kernels
