// SPDX-License-Identifier: Apache-2.0
// muRAND functions without a body yet: a row each.
#include "toolkit/include/murand.h"

#define MURAND_UNIMPLEMENTED(name, ...)   \
  murandStatus_t name(__VA_ARGS__) {      \
    return MURAND_STATUS_NOT_IMPLEMENTED; \
  }

MURAND_UNIMPLEMENTED(
    murandCreateGeneratorHost,
    murandGenerator_t*,
    murandRngType_t)
MURAND_UNIMPLEMENTED(
    murandGenerateLogNormal,
    murandGenerator_t,
    float*,
    size_t,
    float,
    float)
MURAND_UNIMPLEMENTED(
    murandGenerateLogNormalDouble,
    murandGenerator_t,
    double*,
    size_t,
    double,
    double)
MURAND_UNIMPLEMENTED(
    murandGeneratePoisson,
    murandGenerator_t,
    unsigned int*,
    size_t,
    double)
