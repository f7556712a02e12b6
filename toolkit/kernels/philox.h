// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10 and the distributions made of its words: the same numbers from
// the same seed and position on every engine.
#pragma once

#include <cstdint>

#ifndef MUSA_KERNEL_FN
#if defined(__CUDACC__)
#define MUSA_KERNEL_FN __host__ __device__ inline
#else
#define MUSA_KERNEL_FN inline
#endif
#endif

// Files that instantiate these must not contract a*b+c (-ffp-contract=off,
// -fmad=false): the numbers are compared bit by bit.
namespace musa_standin::kernels {
namespace {

constexpr uint32_t kPhiloxM0 = 0xD2511F53U;
constexpr uint32_t kPhiloxM1 = 0xCD9E8D57U;
constexpr uint32_t kPhiloxW0 = 0x9E3779B9U;
constexpr uint32_t kPhiloxW1 = 0xBB67AE85U;
constexpr int kPhiloxRounds = 10;

struct PhiloxWords {
  uint32_t v[4];
};

MUSA_KERNEL_FN PhiloxWords
philox_round(PhiloxWords w, uint32_t k0, uint32_t k1) {
  const uint64_t p0 = static_cast<uint64_t>(kPhiloxM0) * w.v[0];
  const uint64_t p1 = static_cast<uint64_t>(kPhiloxM1) * w.v[2];
  return {
      {static_cast<uint32_t>(p1 >> 32) ^ w.v[1] ^ k0,
       static_cast<uint32_t>(p1),
       static_cast<uint32_t>(p0 >> 32) ^ w.v[3] ^ k1,
       static_cast<uint32_t>(p0)}};
}

// The four words of 128-bit counter {counter, stream} under a 64-bit key. Word
// i of a sequence is word i % 4 of counter i / 4.
MUSA_KERNEL_FN PhiloxWords
philox(uint64_t seed, uint64_t counter, uint64_t stream) {
  PhiloxWords w{
      {static_cast<uint32_t>(counter),
       static_cast<uint32_t>(counter >> 32),
       static_cast<uint32_t>(stream),
       static_cast<uint32_t>(stream >> 32)}};
  uint32_t k0 = static_cast<uint32_t>(seed);
  uint32_t k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    w = philox_round(w, k0, k1);
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  return w;
}

// Dropout: a word at or above p * 2^32 keeps its element.
struct KeepThreshold {
  uint32_t word;
  bool none;
};
inline KeepThreshold keep_threshold(double p) {
  const double value = p * 0x1p32 + 0.5;
  const bool none = value >= 0x1p32;
  return {value <= 0 || none ? 0 : static_cast<uint32_t>(value), none};
}

// (0, 1] in steps of 2^-24: exact.
MUSA_KERNEL_FN float uniform_float(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8) + 1) * 0x1p-24F;
}

// (0, 1] in steps of 2^-53: exact.
MUSA_KERNEL_FN double uniform_double(uint32_t low, uint32_t high) {
  return (static_cast<double>(static_cast<int32_t>(high >> 5)) * 0x1p26 +
          static_cast<double>(static_cast<int32_t>(low >> 6)) + 1.0) *
      0x1p-53;
}

// (0, 1] with 31 bits of the word: the normal distribution's tail wants small
// values that a step of 2^-24 does not have.
MUSA_KERNEL_FN float uniform_fine(uint32_t word) {
  return (static_cast<float>(static_cast<int32_t>(word >> 1)) + 0.5F) *
      0x1p-31F;
}

template <class To, class From>
MUSA_KERNEL_FN To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

// ln(u) for a normal u in (0, 1]: exponent apart, then the series of
// 2 artanh((m - 1) / (m + 1)) on [sqrt(1/2), sqrt(2)).
MUSA_KERNEL_FN float log_unit(float u) {
  constexpr int32_t kHalfRoot = 0x3F3504F3;
  const int32_t shifted = same_bits<int32_t>(u) - kHalfRoot;
  const float exponent = static_cast<float>(shifted >> 23);
  const float m = same_bits<float>((shifted & 0x007FFFFF) + kHalfRoot);
  const float s = (m - 1.0F) / (m + 1.0F);
  const float z = s * s;
  float p = 2.0F / 11.0F;
  p = p * z + 2.0F / 9.0F;
  p = p * z + 2.0F / 7.0F;
  p = p * z + 2.0F / 5.0F;
  p = p * z + 2.0F / 3.0F;
  // ln 2 in two parts: the first times the exponent is exact.
  return exponent * 0.693359375F +
      (exponent * -2.12194440e-4F + (2.0F * s + s * z * p));
}

MUSA_KERNEL_FN double log_unit(double u) {
  constexpr int64_t kHalfRoot = 0x3FE6A09E667F3BCDLL;
  const int64_t shifted = same_bits<int64_t>(u) - kHalfRoot;
  // The exponent is small and not positive; through 32 bits, which every
  // instruction set converts.
  const double exponent =
      static_cast<double>(static_cast<int32_t>(shifted >> 32) >> 20);
  const double m =
      same_bits<double>((shifted & 0x000FFFFFFFFFFFFFLL) + kHalfRoot);
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 2.0 / 23.0;
  p = p * z + 2.0 / 21.0;
  p = p * z + 2.0 / 19.0;
  p = p * z + 2.0 / 17.0;
  p = p * z + 2.0 / 15.0;
  p = p * z + 2.0 / 13.0;
  p = p * z + 2.0 / 11.0;
  p = p * z + 2.0 / 9.0;
  p = p * z + 2.0 / 7.0;
  p = p * z + 2.0 / 5.0;
  p = p * z + 2.0 / 3.0;
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  return exponent * kLn2High + (exponent * kLn2Low + (2.0 * s + s * z * p));
}

// Correctly rounded on every engine.
MUSA_KERNEL_FN float root(float x) {
  return __builtin_sqrtf(x);
}
MUSA_KERNEL_FN double root(double x) {
  return __builtin_sqrt(x);
}

template <class T>
struct SinCos {
  T sine;
  T cosine;
};

// Sine and cosine of quadrant + x, x in [-pi/4, pi/4], from those of x.
template <class T>
MUSA_KERNEL_FN SinCos<T> rotate(uint32_t quadrant, T sine, T cosine) {
  const bool swap = (quadrant & 1U) != 0;
  const T a = swap ? cosine : sine;
  const T b = swap ? sine : cosine;
  return {(quadrant & 2U) != 0 ? -a : a, ((quadrant + 1U) & 2U) != 0 ? -b : b};
}

// Of the angle 2 pi word / 2^32: the nearest quadrant comes off exactly.
MUSA_KERNEL_FN SinCos<float> sincos_turn(uint32_t word) {
  const uint32_t quadrant = (word + 0x20000000U) >> 30;
  const float x = static_cast<float>(static_cast<int32_t>(word << 2)) *
      (0x1p-32F * 1.57079632679F);
  const float z = x * x;
  float s = 1.0F / 362880.0F;
  s = s * z - 1.0F / 5040.0F;
  s = s * z + 1.0F / 120.0F;
  s = s * z - 1.0F / 6.0F;
  float c = -1.0F / 3628800.0F;
  c = c * z + 1.0F / 40320.0F;
  c = c * z - 1.0F / 720.0F;
  c = c * z + 1.0F / 24.0F;
  c = c * z - 0.5F;
  return rotate(quadrant, x + x * z * s, 1.0F + z * c);
}

// Of the angle 2 pi v, v = high:low with 53 bits.
MUSA_KERNEL_FN SinCos<double> sincos_turn(uint32_t low, uint32_t high) {
  const int32_t top = static_cast<int32_t>(high >> 5);
  const uint32_t quadrant = static_cast<uint32_t>(top + (1 << 24)) >> 25;
  const int32_t rest = top - static_cast<int32_t>(quadrant << 25);
  const double x = (static_cast<double>(rest) * 0x1p26 +
                    static_cast<double>(static_cast<int32_t>(low >> 6))) *
      (0x1p-51 * 1.57079632679489661923);
  const double z = x * x;
  double s = 1.0 / 355687428096000.0;
  s = s * z - 1.0 / 1307674368000.0;
  s = s * z + 1.0 / 6227020800.0;
  s = s * z - 1.0 / 39916800.0;
  s = s * z + 1.0 / 362880.0;
  s = s * z - 1.0 / 5040.0;
  s = s * z + 1.0 / 120.0;
  s = s * z - 1.0 / 6.0;
  double c = -1.0 / 6402373705728000.0;
  c = c * z + 1.0 / 20922789888000.0;
  c = c * z - 1.0 / 87178291200.0;
  c = c * z + 1.0 / 479001600.0;
  c = c * z - 1.0 / 3628800.0;
  c = c * z + 1.0 / 40320.0;
  c = c * z - 1.0 / 720.0;
  c = c * z + 1.0 / 24.0;
  c = c * z - 0.5;
  return rotate(quadrant, x + x * z * s, 1.0 + z * c);
}

// Two normal numbers from two words (Box-Muller).
MUSA_KERNEL_FN void
normal_pair(uint32_t w0, uint32_t w1, float mean, float stddev, float out[2]) {
  const float radius = root(-2.0F * log_unit(uniform_fine(w0))) * stddev;
  const SinCos<float> angle = sincos_turn(w1);
  out[0] = radius * angle.cosine + mean;
  out[1] = radius * angle.sine + mean;
}

// Two normal numbers from four words.
MUSA_KERNEL_FN void normal_pair(
    const uint32_t words[4],
    double mean,
    double stddev,
    double out[2]) {
  const double radius =
      root(-2.0 * log_unit(uniform_double(words[0], words[1]))) * stddev;
  const SinCos<double> angle = sincos_turn(words[2], words[3]);
  out[0] = radius * angle.cosine + mean;
  out[1] = radius * angle.sine + mean;
}

} // namespace
} // namespace musa_standin::kernels
