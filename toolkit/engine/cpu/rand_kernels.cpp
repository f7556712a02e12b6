// SPDX-License-Identifier: Apache-2.0
// Random number loops; compiled once per instruction set.
#include "toolkit/engine/cpu/rand_kernels.h"

#include "toolkit/engine/cpu/floating.h"
#include "toolkit/kernels/philox.h"

#include <cstring>

#if defined(__AVX2__)
// gcc 12 sees an uninitialised register in its own header (bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace musa_standin::engine::cpu {
namespace {

using kernels::normal_pair;
using kernels::uniform_double;
using kernels::uniform_float;

// Loads, stores and products of one register width; Philox itself stands below.
#if defined(__AVX512F__)

using Register = __m512i;
constexpr int kLanes = 16;

inline Register load(const uint32_t* p) {
  return _mm512_loadu_si512(p);
}
inline Register broadcast(uint32_t x) {
  return _mm512_set1_epi32(static_cast<int>(x));
}
inline Register exclusive_or(Register x, Register y, Register z) {
  return _mm512_ternarylogic_epi32(x, y, z, 0x96);
}
// High halves of 32 x 32-bit products, and the low ones.
inline Register multiply(Register x, Register factor, Register& low) {
  const Register even = _mm512_mul_epu32(x, factor);
  const Register odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), factor);
  low = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
  return _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
}
// Word by word, lane by lane.
inline void
store(Register a, Register b, Register c, Register d, uint32_t* out) {
  const Register ab0 = _mm512_unpacklo_epi32(a, b);
  const Register ab1 = _mm512_unpackhi_epi32(a, b);
  const Register cd0 = _mm512_unpacklo_epi32(c, d);
  const Register cd1 = _mm512_unpackhi_epi32(c, d);
  const Register q0 = _mm512_unpacklo_epi64(ab0, cd0);
  const Register q1 = _mm512_unpackhi_epi64(ab0, cd0);
  const Register q2 = _mm512_unpacklo_epi64(ab1, cd1);
  const Register q3 = _mm512_unpackhi_epi64(ab1, cd1);
  const Register r0 = _mm512_shuffle_i32x4(q0, q1, 0x44);
  const Register r1 = _mm512_shuffle_i32x4(q2, q3, 0x44);
  const Register r2 = _mm512_shuffle_i32x4(q0, q1, 0xEE);
  const Register r3 = _mm512_shuffle_i32x4(q2, q3, 0xEE);
  _mm512_storeu_si512(out, _mm512_shuffle_i32x4(r0, r1, 0x88));
  _mm512_storeu_si512(out + 16, _mm512_shuffle_i32x4(r0, r1, 0xDD));
  _mm512_storeu_si512(out + 32, _mm512_shuffle_i32x4(r2, r3, 0x88));
  _mm512_storeu_si512(out + 48, _mm512_shuffle_i32x4(r2, r3, 0xDD));
}

#elif defined(__AVX2__)

using Register = __m256i;
constexpr int kLanes = 8;

inline Register load(const uint32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline Register broadcast(uint32_t x) {
  return _mm256_set1_epi32(static_cast<int>(x));
}
inline Register exclusive_or(Register x, Register y, Register z) {
  return _mm256_xor_si256(_mm256_xor_si256(x, y), z);
}
inline Register multiply(Register x, Register factor, Register& low) {
  const Register even = _mm256_mul_epu32(x, factor);
  const Register odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), factor);
  low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
  return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}
inline void
store(Register a, Register b, Register c, Register d, uint32_t* out) {
  const Register ab0 = _mm256_unpacklo_epi32(a, b);
  const Register ab1 = _mm256_unpackhi_epi32(a, b);
  const Register cd0 = _mm256_unpacklo_epi32(c, d);
  const Register cd1 = _mm256_unpackhi_epi32(c, d);
  const Register q0 = _mm256_unpacklo_epi64(ab0, cd0);
  const Register q1 = _mm256_unpackhi_epi64(ab0, cd0);
  const Register q2 = _mm256_unpacklo_epi64(ab1, cd1);
  const Register q3 = _mm256_unpackhi_epi64(ab1, cd1);
  auto* to = reinterpret_cast<__m256i*>(out);
  _mm256_storeu_si256(to, _mm256_permute2x128_si256(q0, q1, 0x20));
  _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(q2, q3, 0x20));
  _mm256_storeu_si256(to + 2, _mm256_permute2x128_si256(q0, q1, 0x31));
  _mm256_storeu_si256(to + 3, _mm256_permute2x128_si256(q2, q3, 0x31));
}

#else

constexpr int kLanes = 1;

#endif

#if defined(__AVX2__)

// The functor of philox.h on kLanes counters side by side, two registers at a
// time, since each round waits for its products.
void batch(uint64_t seed, uint64_t counter, uint32_t* out) {
  uint32_t low[2 * kLanes];
  uint32_t high[2 * kLanes];
  for (int i = 0; i < 2 * kLanes; ++i) {
    const uint64_t value = counter + static_cast<uint64_t>(i);
    low[i] = static_cast<uint32_t>(value);
    high[i] = static_cast<uint32_t>(value >> 32);
  }
  Register a[2] = {load(low), load(low + kLanes)};
  Register b[2] = {load(high), load(high + kLanes)};
  Register c[2] = {broadcast(0), broadcast(0)};
  Register d[2] = {broadcast(0), broadcast(0)};
  const Register m0 = broadcast(kernels::kPhiloxM0);
  const Register m1 = broadcast(kernels::kPhiloxM1);
  uint32_t k0 = static_cast<uint32_t>(seed);
  uint32_t k1 = static_cast<uint32_t>(seed >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < kernels::kPhiloxRounds; ++round) {
    for (int i = 0; i < 2; ++i) {
      Register low0;
      Register low1;
      const Register high0 = multiply(a[i], m0, low0);
      const Register high1 = multiply(c[i], m1, low1);
      a[i] = exclusive_or(high1, b[i], broadcast(k0));
      c[i] = exclusive_or(high0, d[i], broadcast(k1));
      b[i] = low1;
      d[i] = low0;
    }
    k0 += kernels::kPhiloxW0;
    k1 += kernels::kPhiloxW1;
  }
  store(a[0], b[0], c[0], d[0], out);
  store(a[1], b[1], c[1], d[1], out + 4 * kLanes);
}

#else

void batch(uint64_t seed, uint64_t counter, uint32_t* out) {
  for (int i = 0; i < 2 * kLanes; ++i) {
    const kernels::PhiloxWords w =
        kernels::philox(seed, counter + static_cast<uint64_t>(i), 0);
    std::memcpy(out + 4 * i, w.v, sizeof w.v);
  }
}

#endif

constexpr int kBatch = 2 * kLanes * 4; // words of a batch
constexpr int kBuffer = 512; // words between the generator and a transform

// Words from `first` on stand at the returned address; n ≤ kBuffer.
const uint32_t*
take(uint64_t seed, uint64_t first, int64_t n, uint32_t* buffer) {
  const uint64_t shift = first % 4;
  const int64_t words = n + static_cast<int64_t>(shift);
  for (int64_t done = 0; done < words; done += kBatch)
    batch(seed, first / 4 + static_cast<uint64_t>(done / 4), buffer + done);
  return buffer + shift;
}

template <int WordsEach, class T, class Transform>
void transform(
    const RandArgs& args,
    int64_t begin,
    int64_t end,
    Transform&& apply) {
  alignas(64) uint32_t buffer[kBuffer + kBatch];
  auto* out = static_cast<T*>(args.out);
  constexpr int64_t kStep = kBuffer / WordsEach;
  for (int64_t at = begin; at < end; at += kStep) {
    const int64_t n = smaller(kStep, end - at);
    const uint64_t first =
        args.position + static_cast<uint64_t>(at) * WordsEach;
    const uint32_t* words = take(args.seed, first, n * WordsEach, buffer);
    apply(words, out + at, n);
  }
}

void normal_floats(const RandArgs& args, int64_t begin, int64_t end) {
  const float mean = static_cast<float>(args.mean);
  const float stddev = static_cast<float>(args.stddev);
  transform<1, float>(
      args,
      begin,
      end,
      [=](const uint32_t* words, float* out, int64_t n) {
        for (int64_t i = 0; i < n / 2; ++i)
          normal_pair(
              words[2 * i],
              words[2 * i + 1],
              mean,
              stddev,
              out + 2 * i);
      });
}

void normal_doubles(const RandArgs& args, int64_t begin, int64_t end) {
  const double mean = args.mean;
  const double stddev = args.stddev;
  transform<2, double>(
      args,
      begin,
      end,
      [=](const uint32_t* words, double* out, int64_t n) {
        for (int64_t i = 0; i < n / 2; ++i)
          normal_pair(words + 4 * i, mean, stddev, out + 2 * i);
      });
}

void generate(const RandArgs& args, int64_t begin, int64_t end) {
  switch (args.distribution) {
  case Distribution::kWords:
    return transform<1, uint32_t>(
        args,
        begin,
        end,
        [](const uint32_t* words, uint32_t* out, int64_t n) {
          std::memcpy(out, words, static_cast<size_t>(n) * sizeof(uint32_t));
        });
  case Distribution::kUniform:
    return transform<1, float>(
        args,
        begin,
        end,
        [](const uint32_t* words, float* out, int64_t n) {
          for (int64_t i = 0; i < n; ++i)
            out[i] = uniform_float(words[i]);
        });
  case Distribution::kUniformDouble:
    return transform<2, double>(
        args,
        begin,
        end,
        [](const uint32_t* words, double* out, int64_t n) {
          for (int64_t i = 0; i < n; ++i)
            out[i] = uniform_double(words[2 * i], words[2 * i + 1]);
        });
  case Distribution::kNormal:
    return normal_floats(args, begin, end);
  case Distribution::kNormalDouble:
    return normal_doubles(args, begin, end);
  }
}

void dropout(const DropoutJob& job, int64_t begin, int64_t end) {
  alignas(64) uint32_t buffer[kBuffer + kBatch];
  const kernels::KeepThreshold threshold = kernels::keep_threshold(job.p);
  const uint8_t possible = threshold.none ? 0 : 1;
  with_floating(job.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using W = kernels::Wide<T>;
    const W scale = static_cast<W>(job.scale);
    for (int64_t at = begin; at < end; at += kBuffer) {
      const int64_t n = smaller(kBuffer, end - at);
      const uint64_t first = job.position + static_cast<uint64_t>(at);
      const uint32_t* words = take(job.seed, first, n, buffer);
      const T* in = static_cast<const T*>(job.in) + at;
      T* out = static_cast<T*>(job.out) + at;
      uint8_t* mask = job.mask + at;
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        const bool keep = words[i] >= threshold.word && possible != 0;
        mask[i] = keep ? 1 : 0;
        out[i] =
            kernels::narrow<T>(keep ? kernels::widen(in[i]) * scale : W(0));
      }
    }
  });
}

void dropout_backward(const DropoutJob& job, int64_t begin, int64_t end) {
  with_floating(job.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using W = kernels::Wide<T>;
    const W scale = static_cast<W>(job.scale);
    const T* in = static_cast<const T*>(job.in);
    T* out = static_cast<T*>(job.out);
#pragma omp simd
    for (int64_t i = begin; i < end; ++i)
      out[i] = kernels::narrow<T>(
          job.mask[i] != 0 ? kernels::widen(in[i]) * scale : W(0));
  });
}

} // namespace

const RandKernels MUSA_ISA_TABLE(
    kRandKernels) = {generate, dropout, dropout_backward};

} // namespace musa_standin::engine::cpu
