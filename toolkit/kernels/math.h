// SPDX-License-Identifier: Apache-2.0
// Float functions without branches or tables, so that loops over them
// vectorise; double goes to the C library.
#pragma once

#include "toolkit/kernels/device_math.h"
#include "toolkit/kernels/scalar_types.h"

#include <cstdint>

namespace musa_standin::kernels {
namespace {

constexpr float kInfinity = __builtin_inff();
constexpr float kNan = __builtin_nanf("");
constexpr float kTrigLimit = 1.0e5F;

MUSA_KERNEL_FN float mul_add(float a, float b, float c) {
#if defined(__FMA__) || defined(__CUDA_ARCH__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// The conditional operator without a branch, which the compiler might make of
// a chain of them.
MUSA_KERNEL_FN float choose(bool first, float a, float b) {
  const uint32_t mask = 0U - static_cast<uint32_t>(first);
  return bits_as<float>(
      (bits_as<uint32_t>(a) & mask) | (bits_as<uint32_t>(b) & ~mask));
}
MUSA_KERNEL_FN double choose(bool first, double a, double b) {
  const uint64_t mask = 0U - static_cast<uint64_t>(first);
  return bits_as<double>(
      (bits_as<uint64_t>(a) & mask) | (bits_as<uint64_t>(b) & ~mask));
}
MUSA_KERNEL_FN int64_t choose(bool first, int64_t a, int64_t b) {
  const int64_t mask = -static_cast<int64_t>(first);
  return (a & mask) | (b & ~mask);
}

MUSA_KERNEL_FN float absolute(float x) {
  return __builtin_fabsf(x);
}
MUSA_KERNEL_FN double absolute(double x) {
  return __builtin_fabs(x);
}
MUSA_KERNEL_FN int64_t absolute(int64_t x) {
  return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x;
}

MUSA_KERNEL_FN bool is_nan(float x) {
  return x != x;
}
MUSA_KERNEL_FN bool is_nan(double x) {
  return x != x;
}
MUSA_KERNEL_FN bool is_nan(int64_t /*x*/) {
  return false;
}

MUSA_KERNEL_FN float root_of(float x) {
  return __builtin_sqrtf(x);
}

MUSA_KERNEL_FN float clamp_to(float x, float low, float high) {
  const float y = x < low ? low : x;
  return x > high ? high : y;
}

#if !defined(__CUDA_ARCH__) // the device's stand in device_math.h

// x = n ln 2 + r with |r| ≤ ln 2 / 2, n as a float; |x| < 2^21 or so.
struct Reduced {
  float n;
  float r;
};
MUSA_KERNEL_FN Reduced reduce_ln2(float x) {
  constexpr float kRound = 12582912.0F; // 1.5 · 2^23
  const float n = mul_add(x, 1.44269504F, kRound) - kRound;
  const float r = mul_add(n, -0.693145752F, x); // ln 2, 16 bits: exact
  return {n, mul_add(n, -1.42860677e-6F, r)};
}

// 2^n for an integer n in [-127, 127] held in a float.
MUSA_KERNEL_FN float power_of_two(float n) {
  const int32_t e = static_cast<int32_t>(n);
  return bits_as<float>(static_cast<uint32_t>(e + 127) << 23);
}

// (e^r - 1 - r) / r² on [-ln 2 / 2, ln 2 / 2].
MUSA_KERNEL_FN float exp_tail(float r) {
  float p = 1.978816144e-04F;
  p = mul_add(p, r, 1.394686638e-03F);
  p = mul_add(p, r, 8.333510719e-03F);
  p = mul_add(p, r, 4.166626558e-02F);
  p = mul_add(p, r, 1.666666567e-01F);
  return mul_add(p, r, 5.0e-01F);
}

MUSA_KERNEL_FN float exp(float x) {
  const float c = clamp_to(x, -105.0F, 90.0F);
  const Reduced k = reduce_ln2(c);
  const float p = mul_add(k.r * k.r, exp_tail(k.r), k.r) + 1.0F;
  // Two factors: either alone could leave the range of a float's exponent.
  const float half = static_cast<float>(static_cast<int32_t>(k.n * 0.5F));
  return p * power_of_two(half) * power_of_two(k.n - half);
}

MUSA_KERNEL_FN float expm1(float x) {
  const float c = clamp_to(x, -20.0F, 90.0F);
  const Reduced k = reduce_ln2(c);
  const float m = mul_add(k.r * k.r, exp_tail(k.r), k.r);
  const float half = static_cast<float>(static_cast<int32_t>(k.n * 0.5F));
  const float a = power_of_two(half);
  const float b = power_of_two(k.n - half);
  // a (b m + b - 1/a); with n = 128, a b alone would overflow.
  const float y = a * (b * m + (b - power_of_two(-half)));
  return __builtin_copysignf(y, x);
}

// ln x = e · ln 2 + ln m: e and ln m of a positive x.
struct LogParts {
  float e;
  float m;
};
MUSA_KERNEL_FN LogParts log_parts(float x) {
  const bool tiny = x < 0x1p-126F;
  const float scaled = tiny ? x * 0x1p23F : x;
  constexpr int32_t kHalfRoot = 0x3F3504F3;
  const int32_t shifted = bits_as<int32_t>(scaled) - kHalfRoot;
  const float e = static_cast<float>(shifted >> 23) - (tiny ? 23.0F : 0.0F);
  const float m = bits_as<float>((shifted & 0x007FFFFF) + kHalfRoot);
  return {e, m};
}

// (ln(1 + f) - f) / f² on [sqrt(1/2) - 1, sqrt(2) - 1].
MUSA_KERNEL_FN float log_tail(float f) {
  float p = 6.746591628e-02F;
  p = mul_add(p, f, -1.167563871e-01F);
  p = mul_add(p, f, 1.188817769e-01F);
  p = mul_add(p, f, -1.240559220e-01F);
  p = mul_add(p, f, 1.421955079e-01F);
  p = mul_add(p, f, -1.666799635e-01F);
  p = mul_add(p, f, 2.000211924e-01F);
  p = mul_add(p, f, -2.500000894e-01F);
  p = mul_add(p, f, 3.333331347e-01F);
  return mul_add(p, f, -0.5F);
}

// The values of a logarithm outside (0, inf).
MUSA_KERNEL_FN float log_edges(float x, float y) {
  const float edge = choose(x == 0.0F, -kInfinity, choose(x < 0.0F, kNan, x));
  return choose((x > 0.0F) & (x < kInfinity), y, edge);
}

MUSA_KERNEL_FN float log(float x) {
  const LogParts k = log_parts(x);
  const float f = k.m - 1.0F;
  const float low = mul_add(k.e, -2.12194440e-4F, f * f * log_tail(f));
  return log_edges(x, mul_add(k.e, 0.693359375F, low + f));
}

MUSA_KERNEL_FN float log2(float x) {
  const LogParts k = log_parts(x);
  const float f = k.m - 1.0F;
  const float tail = f * f * log_tail(f);
  // 1 / ln 2 in two parts: the first product is exact up to its last bits.
  const float low = mul_add(f, 1.92596299e-8F, tail * 1.44269504F);
  return log_edges(x, k.e + mul_add(f, 1.44269502F, low));
}

MUSA_KERNEL_FN float log10(float x) {
  const LogParts k = log_parts(x);
  const float f = k.m - 1.0F;
  const float tail = f * f * log_tail(f);
  const float low = mul_add(k.e, 4.60503919e-6F, tail * 0.434294482F);
  return log_edges(
      x,
      mul_add(k.e, 0.301025391F, mul_add(f, 0.434294482F, low)));
}

MUSA_KERNEL_FN float log1p(float x) {
  const float u = 1.0F + x;
  // What the addition lost, relative to u.
  const float lost = absolute(x) < 1.0F ? x - (u - 1.0F) : 1.0F - (u - x);
  const float correction = lost / u;
  // Nothing to correct where u is 0 or not finite.
  const bool plain = (u > 0.0F) & (u < kInfinity);
  const float y = log(u) + (plain ? correction : 0.0F);
  return x == 0.0F ? x : y;
}

MUSA_KERNEL_FN float tanh(float x) {
  const float z = x * x;
  float p = -5.717036314e-03F;
  p = mul_add(p, z, 2.065057866e-02F);
  p = mul_add(p, z, -5.374349654e-02F);
  p = mul_add(p, z, 1.333149076e-01F);
  p = mul_add(p, z, -3.333328366e-01F);
  const float small = mul_add(p * z, x, x);
  const float a = absolute(x);
  const float large = 1.0F - 2.0F / (exp(2.0F * a) + 1.0F);
  return a < 0.625F ? small : __builtin_copysignf(large, x);
}

MUSA_KERNEL_FN float erf(float x) {
  const float z = x * x;
  float p = 8.185090701e-05F;
  p = mul_add(p, z, -8.097702521e-04F);
  p = mul_add(p, z, 5.196951795e-03F);
  p = mul_add(p, z, -2.685770579e-02F);
  p = mul_add(p, z, 1.128366366e-01F);
  p = mul_add(p, z, -3.761263192e-01F);
  p = mul_add(p, z, 1.283791671e-01F);
  const float small = mul_add(p, x, x);
  float t = absolute(x);
  t = t > 4.0F ? 4.0F : t;
  // ln(1 - erf t)
  float q = -2.090955604e-05F;
  q = mul_add(q, t, 4.323030007e-04F);
  q = mul_add(q, t, -4.160527140e-03F);
  q = mul_add(q, t, 2.509149723e-02F);
  q = mul_add(q, t, -1.082366183e-01F);
  q = mul_add(q, t, -6.333866715e-01F);
  q = mul_add(q, t, -1.129495144e+00F);
  q = mul_add(q, t, 1.705520262e-04F);
  const float large = __builtin_copysignf(1.0F - exp(q), x);
  return t < 0.93F ? small : large;
}

// Sine and cosine for |x| ≤ kTrigLimit; the caller sends the rest elsewhere.
struct Quadrant {
  int32_t q;
  float r;
};
MUSA_KERNEL_FN Quadrant reduce_half_pi(float x) {
  constexpr double kRound = 6755399441055744.0; // 1.5 · 2^52
  const double wide = static_cast<double>(x);
  const double n = (wide * 0.63661977236758134 + kRound) - kRound;
  const double r = wide - n * 1.5707963267948966 - n * 6.123233995736766e-17;
  return {static_cast<int32_t>(n), static_cast<float>(r)};
}
MUSA_KERNEL_FN float sin_or_cos(int32_t quadrant, float r) {
  const float z = r * r;
  float s = 2.717564485e-06F;
  s = mul_add(s, z, -1.983925613e-04F);
  s = mul_add(s, z, 8.333329111e-03F);
  s = mul_add(s, z, -1.666666716e-01F);
  const float sine = mul_add(s * z, r, r);
  float c = -2.720330201e-07F;
  c = mul_add(c, z, 2.479943578e-05F);
  c = mul_add(c, z, -1.388888340e-03F);
  c = mul_add(c, z, 4.166666791e-02F);
  const float cosine = mul_add(c, z * z, mul_add(z, -0.5F, 1.0F));
  const float v = (quadrant & 1) != 0 ? cosine : sine;
  return (quadrant & 2) != 0 ? -v : v;
}
MUSA_KERNEL_FN float sin(float x) {
  const Quadrant k = reduce_half_pi(x);
  return sin_or_cos(k.q, k.r);
}
MUSA_KERNEL_FN float cos(float x) {
  const Quadrant k = reduce_half_pi(x);
  return sin_or_cos(k.q + 1, k.r);
}
MUSA_KERNEL_FN float tan_of(float x) {
  const Quadrant k = reduce_half_pi(x);
  return sin_or_cos(k.q, k.r) / sin_or_cos(k.q + 1, k.r);
}
MUSA_KERNEL_FN float acos_of(float x) {
  const float a = absolute(x);
  const bool outer = a > 0.5F;
  // acos a = 2 asin(sqrt((1 - a) / 2)) beyond 1/2.
  const float z = outer ? 0.5F - 0.5F * a : a * a;
  const float y = outer ? root_of(z) : a;
  float p = 3.757815808e-02F;
  p = mul_add(p, z, 1.439380553e-02F);
  p = mul_add(p, z, 3.181982040e-02F);
  p = mul_add(p, z, 4.451547191e-02F);
  p = mul_add(p, z, 7.500512153e-02F);
  p = mul_add(p, z, 1.666665971e-01F);
  const float asin = mul_add(p * z, y, y);
  const float twice = 2.0F * asin;
  const float far = x < 0.0F ? (3.14159274F - twice) - 8.74227766e-8F : twice;
  const float near =
      1.57079637F - (__builtin_copysignf(asin, x) + 4.37113883e-8F);
  return outer ? far : near;
}
MUSA_KERNEL_FN float atan_of(float x) {
  const float a = absolute(x);
  const bool outer = a > 1.0F;
  const float y = outer ? 1.0F / a : a;
  const float z = y * y;
  float p = -7.112931344e-04F;
  p = mul_add(p, z, 4.999252502e-03F);
  p = mul_add(p, z, -1.647130400e-02F);
  p = mul_add(p, z, 3.470445052e-02F);
  p = mul_add(p, z, -5.470431596e-02F);
  p = mul_add(p, z, 7.269375026e-02F);
  p = mul_add(p, z, -8.988788724e-02F);
  p = mul_add(p, z, 1.109520197e-01F);
  p = mul_add(p, z, -1.428425014e-01F);
  p = mul_add(p, z, 1.999993175e-01F);
  p = mul_add(p, z, -3.333333135e-01F);
  const float inner = mul_add(p * z, y, y);
  const float far = 1.57079637F - (inner + 4.37113883e-8F);
  return __builtin_copysignf(outer ? far : inner, x);
}

#endif

MUSA_KERNEL_FN float sigmoid(float x) {
  return 1.0F / (1.0F + exp(-x));
}

MUSA_KERNEL_FN double exp(double x) {
  return __builtin_exp(x);
}
MUSA_KERNEL_FN double expm1(double x) {
  return __builtin_expm1(x);
}
MUSA_KERNEL_FN double log(double x) {
  return __builtin_log(x);
}
MUSA_KERNEL_FN double log2(double x) {
  return __builtin_log2(x);
}
MUSA_KERNEL_FN double log10(double x) {
  return __builtin_log10(x);
}
MUSA_KERNEL_FN double log1p(double x) {
  return __builtin_log1p(x);
}
MUSA_KERNEL_FN double tanh(double x) {
  return __builtin_tanh(x);
}
MUSA_KERNEL_FN double sigmoid(double x) {
  return 1.0 / (1.0 + __builtin_exp(-x));
}
MUSA_KERNEL_FN double erf(double x) {
  return __builtin_erf(x);
}
MUSA_KERNEL_FN double sin(double x) {
  return __builtin_sin(x);
}
MUSA_KERNEL_FN double cos(double x) {
  return __builtin_cos(x);
}

MUSA_KERNEL_FN double root_of(double x) {
  return __builtin_sqrt(x);
}
MUSA_KERNEL_FN float floor_of(float x) {
  return __builtin_floorf(x);
}
MUSA_KERNEL_FN double floor_of(double x) {
  return __builtin_floor(x);
}
MUSA_KERNEL_FN float ceil_of(float x) {
  return __builtin_ceilf(x);
}
MUSA_KERNEL_FN double ceil_of(double x) {
  return __builtin_ceil(x);
}
MUSA_KERNEL_FN float trunc_of(float x) {
  return __builtin_truncf(x);
}
MUSA_KERNEL_FN double trunc_of(double x) {
  return __builtin_trunc(x);
}
// Ties to even.
MUSA_KERNEL_FN float round_of(float x) {
  return __builtin_rintf(x);
}
MUSA_KERNEL_FN double round_of(double x) {
  return __builtin_rint(x);
}
MUSA_KERNEL_FN float mod_of(float x, float y) {
  return __builtin_fmodf(x, y);
}
MUSA_KERNEL_FN double mod_of(double x, double y) {
  return __builtin_fmod(x, y);
}
// The same for quotients up to 2^28, where the product below is exact.
constexpr float kNearQuotient = 0x1p28F;
MUSA_KERNEL_FN float near_mod(float x, float y) {
  const double a = static_cast<double>(absolute(x));
  const double b = static_cast<double>(absolute(y));
  const double q = __builtin_trunc(a / b);
  double r = a - q * b;
  r = r < 0.0 ? r + b : r;
  r = r >= b ? r - b : r;
  const float m =
      absolute(y) == kInfinity ? absolute(x) : static_cast<float>(r);
  return __builtin_copysignf(absolute(x) == kInfinity ? kNan : m, x);
}
MUSA_KERNEL_FN float pow_of(float x, float y) {
  return __builtin_powf(x, y);
}
MUSA_KERNEL_FN double pow_of(double x, double y) {
  return __builtin_pow(x, y);
}
MUSA_KERNEL_FN double tan_of(double x) {
  return __builtin_tan(x);
}
MUSA_KERNEL_FN double acos_of(double x) {
  return __builtin_acos(x);
}
MUSA_KERNEL_FN double atan_of(double x) {
  return __builtin_atan(x);
}

} // namespace
} // namespace musa_standin::kernels
