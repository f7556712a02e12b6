// SPDX-License-Identifier: Apache-2.0
// muRAND host interface.
#pragma once

#include <stddef.h>

#include "driver_types.h"

#define MURAND_VERSION 30000

#define MURANDAPI __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum murandStatus {
  MURAND_STATUS_SUCCESS = 0,
  MURAND_STATUS_VERSION_MISMATCH = 100,
  MURAND_STATUS_NOT_INITIALIZED = 101,
  MURAND_STATUS_ALLOCATION_FAILED = 102,
  MURAND_STATUS_TYPE_ERROR = 103,
  MURAND_STATUS_OUT_OF_RANGE = 104,
  MURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  MURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
  MURAND_STATUS_LAUNCH_FAILURE = 201,
  MURAND_STATUS_PREEXISTING_FAILURE = 202,
  MURAND_STATUS_INITIALIZATION_FAILED = 203,
  MURAND_STATUS_ARCH_MISMATCH = 204,
  MURAND_STATUS_INTERNAL_ERROR = 999,
  MURAND_STATUS_NOT_IMPLEMENTED = 1000,
} murandStatus_t;

typedef enum murandRngType {
  MURAND_RNG_PSEUDO_DEFAULT = 400,
  MURAND_RNG_PSEUDO_XORWOW = 401,
  MURAND_RNG_PSEUDO_MRG32K3A = 402,
  MURAND_RNG_PSEUDO_MTGP32 = 403,
  MURAND_RNG_PSEUDO_PHILOX4_32_10 = 404,
  MURAND_RNG_PSEUDO_MT19937 = 405,
  MURAND_RNG_QUASI_DEFAULT = 500,
  MURAND_RNG_QUASI_SOBOL32 = 501,
} murandRngType_t;

typedef enum murandOrdering {
  MURAND_ORDERING_PSEUDO_BEST = 100,
  MURAND_ORDERING_PSEUDO_DEFAULT = 101,
  MURAND_ORDERING_PSEUDO_SEEDED = 102,
  MURAND_ORDERING_PSEUDO_LEGACY = 103,
  MURAND_ORDERING_QUASI_DEFAULT = 201,
} murandOrdering_t;

typedef struct murandGenerator_st* murandGenerator_t;

MURANDAPI murandStatus_t murandGetVersion(int* version);

// Bound to the calling thread's current device.
MURANDAPI murandStatus_t
murandCreateGenerator(murandGenerator_t* generator, murandRngType_t type);
MURANDAPI murandStatus_t
murandCreateGeneratorHost(murandGenerator_t* generator, murandRngType_t type);
MURANDAPI murandStatus_t murandDestroyGenerator(murandGenerator_t generator);
MURANDAPI murandStatus_t
murandSetStream(murandGenerator_t generator, musaStream_t stream);
MURANDAPI murandStatus_t murandSetPseudoRandomGeneratorSeed(
    murandGenerator_t generator,
    unsigned long long seed);
MURANDAPI murandStatus_t murandSetGeneratorOffset(
    murandGenerator_t generator,
    unsigned long long offset);
MURANDAPI murandStatus_t
murandSetGeneratorOrdering(murandGenerator_t generator, murandOrdering_t order);
MURANDAPI murandStatus_t murandSetQuasiRandomGeneratorDimensions(
    murandGenerator_t generator,
    unsigned int dimensions);
MURANDAPI murandStatus_t murandGenerateSeeds(murandGenerator_t generator);

// Outputs are in the device's memory; the work is enqueued on the generator's
// stream.
MURANDAPI murandStatus_t
murandGenerate(murandGenerator_t generator, unsigned int* out, size_t n);
MURANDAPI murandStatus_t murandGenerateLongLong(
    murandGenerator_t generator,
    unsigned long long* out,
    size_t n);
// (0, 1]
MURANDAPI murandStatus_t
murandGenerateUniform(murandGenerator_t generator, float* out, size_t n);
MURANDAPI murandStatus_t
murandGenerateUniformDouble(murandGenerator_t generator, double* out, size_t n);
// n must be even.
MURANDAPI murandStatus_t murandGenerateNormal(
    murandGenerator_t generator,
    float* out,
    size_t n,
    float mean,
    float stddev);
MURANDAPI murandStatus_t murandGenerateNormalDouble(
    murandGenerator_t generator,
    double* out,
    size_t n,
    double mean,
    double stddev);
MURANDAPI murandStatus_t murandGenerateLogNormal(
    murandGenerator_t generator,
    float* out,
    size_t n,
    float mean,
    float stddev);
MURANDAPI murandStatus_t murandGenerateLogNormalDouble(
    murandGenerator_t generator,
    double* out,
    size_t n,
    double mean,
    double stddev);
MURANDAPI murandStatus_t murandGeneratePoisson(
    murandGenerator_t generator,
    unsigned int* out,
    size_t n,
    double lambda);

#ifdef __cplusplus
}
#endif
