// SPDX-License-Identifier: Apache-2.0
// Distributions that muRAND does not make, from Philox words.
#pragma once

#include "csrc/kernels/operands.h"

#include <musa_runtime.h>

// Where a call's numbers stand: word `offset` of sequence `seed`. With words,
// seed and offset stand there on the device, and `offset` is added to theirs.
struct FlSequence {
  uint64_t seed;
  uint64_t offset;
  const uint64_t* words;
};

// What all elements share: a and b are
enum FlDistribution : int32_t {
  kFlBernoulli,   // the probability
  kFlExponential, // the rate
  kFlGeometric,   // the probability, below 1
  kFlCauchy,      // median and scale
  kFlLogNormal,   // mean and deviation of the logarithm
};

// Words that fl_draw takes for n elements of `type`.
inline uint64_t fl_draw_words(FlKernelType type, int64_t n) {
  const bool narrow =
      type == kFlHalf || type == kFlBfloat16 || type == kFlFloat;
  return static_cast<uint64_t>(n) * (narrow ? 1 : 2);
}

// out: n elements, dense. A floating type is needed but for bernoulli and
// geometric: musaErrorInvalidValue.
FL_KERNEL_API musaError_t fl_draw(
    FlDistribution what,
    FlKernelType type,
    void* out,
    int64_t n,
    double a,
    double b,
    const FlSequence* sequence,
    musaStream_t stream);

// n words of 64 random bits each; takes 2 n words.
FL_KERNEL_API musaError_t fl_draw_bits(
    void* out,
    int64_t n,
    const FlSequence* sequence,
    musaStream_t stream);

enum FlElementDistribution : int32_t {
  kFlPoisson,  // first: the rate
  kFlBinomial, // first: the count, second: the probability
  // first / an exponential number: the largest of these is at i with a
  // probability proportional to first[i].
  kFlRace,
};

// Of dense operands of one floating type; takes 4 n words.
FL_KERNEL_API musaError_t fl_draw_each(
    FlElementDistribution what,
    FlKernelType type,
    void* out,
    const void* first,
    const void* second,
    int64_t n,
    const FlSequence* sequence,
    musaStream_t stream);

// noise = uniform in [lower, upper] where in <= 0, else 1; out = in * noise.
// Takes n words.
FL_KERNEL_API musaError_t fl_rrelu(
    FlKernelType type,
    void* out,
    void* noise,
    const void* in,
    int64_t n,
    double lower,
    double upper,
    const FlSequence* sequence,
    musaStream_t stream);

// Draws `samples` places of each of `rows` rows of running sums (double, n in a
// row): out is INT64 [rows, samples]. Takes 4 rows * samples words.
FL_KERNEL_API musaError_t fl_pick_by_sums(
    void* out,
    const void* sums,
    int64_t rows,
    int64_t n,
    int64_t samples,
    const FlSequence* sequence,
    musaStream_t stream);
