// SPDX-License-Identifier: Apache-2.0
// Engine interface of random numbers.
#pragma once

#include "toolkit/engine/export.h"

#include <cstdint>

namespace musa_standin::engine {

class Stream;

enum class Distribution : uint8_t {
  kWords,
  kUniform,
  kUniformDouble,
  kNormal,
  kNormalDouble,
};

// n elements from word `position` of the seed's Philox sequence on: a float or
// 32-bit element takes one word, a double two, wherever the engine computes it.
struct RandArgs {
  Distribution distribution = Distribution::kWords;
  uint64_t seed = 0;
  uint64_t position = 0;
  void* out = nullptr;
  int64_t n = 0;
  double mean = 0;
  double stddev = 1;
};

class Rand {
 public:
  // Enqueues and returns; throws Error if the enqueue fails.
  virtual void generate(Stream& stream, const RandArgs& args) = 0;

 protected:
  Rand() = default;
  Rand(const Rand&) = default;
  Rand& operator=(const Rand&) = default;
  ~Rand() = default;
};

// The loaded engine's.
MUSA_ENGINE_API Rand& rand();

} // namespace musa_standin::engine
