// SPDX-License-Identifier: Apache-2.0
// muRAND: generators and their numbers.
#include "toolkit/include/murand.h"

#include "toolkit/engine/error.h"
#include "toolkit/engine/fault.h"
#include "toolkit/engine/rand.h"
#include "toolkit/engine/runtime.h"
#include "toolkit/engine/thread_state.h"

#include <mutex>
#include <new>

using namespace musa_standin;

struct murandGenerator_st {
  bool alive = false;
  int device = 0;
  musaStream_t stream = nullptr;
  uint64_t seed = 0;
  uint64_t offset = 0;
  uint64_t position = 0; // the next word of the sequence
  murandGenerator_st* next = nullptr;
};

namespace {

// Destroyed generators are kept for the next one: a handle stays readable, so
// that its second use is an error and not a stray access.
std::mutex g_mutex;
murandGenerator_st* g_free = nullptr;

murandGenerator_st* take_generator() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_free == nullptr)
    return new murandGenerator_st;
  murandGenerator_st* taken = g_free;
  g_free = taken->next;
  *taken = {};
  return taken;
}

void give_generator(murandGenerator_st* generator) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  generator->alive = false;
  generator->next = g_free;
  g_free = generator;
}

murandStatus_t status_of(musaError_t code) {
  switch (code) {
  case musaSuccess:
    return MURAND_STATUS_SUCCESS;
  case musaErrorMemoryAllocation:
    return MURAND_STATUS_ALLOCATION_FAILED;
  case musaErrorInitializationError:
  case musaErrorNoDevice:
  case musaErrorMusartUnloading:
    return MURAND_STATUS_INITIALIZATION_FAILED;
  case musaErrorNotSupported:
    return MURAND_STATUS_NOT_IMPLEMENTED;
  default:
    return engine::is_sticky(code) ? MURAND_STATUS_PREEXISTING_FAILURE
                                   : MURAND_STATUS_LAUNCH_FAILURE;
  }
}

template <class Body>
murandStatus_t api_call(const char* name, Body&& body) {
  musaError_t code = engine::admit();
  murandStatus_t status = status_of(code);
  if (code == musaSuccess) {
    try {
      status = body();
    } catch (const engine::Error& error) {
      code = error.code();
      engine::set_failure(error);
      status = status_of(code);
    } catch (const std::bad_alloc&) {
      status = MURAND_STATUS_ALLOCATION_FAILED;
    }
  }
  if (__builtin_expect(
          (engine::g_gate.load(std::memory_order_relaxed) &
           engine::kGateTrace) != 0,
          0))
    engine::trace_call(name, code);
  return status;
}

bool alive(murandGenerator_t generator) {
  return generator != nullptr && generator->alive;
}

bool known(murandRngType_t type) {
  return (type >= MURAND_RNG_PSEUDO_DEFAULT &&
          type <= MURAND_RNG_PSEUDO_MT19937) ||
      type == MURAND_RNG_QUASI_DEFAULT || type == MURAND_RNG_QUASI_SOBOL32;
}

// A function that generates.
struct Kind {
  const char* name;
  engine::Distribution distribution;
  size_t words;    // of the sequence, for an element
  size_t multiple; // of the count
};

murandStatus_t generate(
    const Kind& kind,
    murandGenerator_t generator,
    void* out,
    size_t n,
    double mean = 0,
    double stddev = 1) {
  return api_call(kind.name, [&] {
    if (!alive(generator))
      return MURAND_STATUS_NOT_INITIALIZED;
    if (n % kind.multiple != 0 && !engine::planted("odd_normals"))
      return MURAND_STATUS_LENGTH_NOT_MULTIPLE;
    if (n == 0)
      return MURAND_STATUS_SUCCESS;
    if (out == nullptr)
      return MURAND_STATUS_OUT_OF_RANGE;
    engine::RandArgs args;
    args.distribution = kind.distribution;
    args.seed = generator->seed;
    args.position = generator->position;
    args.out = out;
    args.n = static_cast<int64_t>(n);
    args.mean = mean;
    args.stddev = stddev;
    engine::rand().generate(
        engine::resolve_stream(generator->stream, generator->device),
        args);
    generator->position +=
        engine::planted("frozen_sequence") ? 0 : n * kind.words;
    return MURAND_STATUS_SUCCESS;
  });
}

} // namespace

murandStatus_t murandGetVersion(int* version) {
  if (version == nullptr)
    return MURAND_STATUS_OUT_OF_RANGE;
  *version = MURAND_VERSION;
  return MURAND_STATUS_SUCCESS;
}

murandStatus_t murandCreateGenerator(
    murandGenerator_t* generator,
    murandRngType_t type) {
  return api_call("murandCreateGenerator", [&] {
    if (generator == nullptr)
      return MURAND_STATUS_OUT_OF_RANGE;
    if (!known(type))
      return MURAND_STATUS_TYPE_ERROR;
    if (type != MURAND_RNG_PSEUDO_DEFAULT &&
        type != MURAND_RNG_PSEUDO_PHILOX4_32_10)
      return MURAND_STATUS_NOT_IMPLEMENTED;
    const int device = engine::t_state.device;
    if (device >= engine::runtime().device_count())
      return MURAND_STATUS_INITIALIZATION_FAILED;
    engine::runtime().initialize(device);
    murandGenerator_st* made = take_generator();
    made->alive = true;
    made->device = device;
    *generator = made;
    return MURAND_STATUS_SUCCESS;
  });
}

murandStatus_t murandDestroyGenerator(murandGenerator_t generator) {
  const murandStatus_t status = api_call("murandDestroyGenerator", [&] {
    if (!alive(generator))
      return MURAND_STATUS_NOT_INITIALIZED;
    give_generator(generator);
    return MURAND_STATUS_SUCCESS;
  });
  // A sticky error is the answer but keeps nothing alive: since it never ends,
  // no later call could destroy the generator.
  if (status == MURAND_STATUS_PREEXISTING_FAILURE && alive(generator))
    give_generator(generator);
  return status;
}

murandStatus_t murandSetStream(
    murandGenerator_t generator,
    musaStream_t stream) {
  return api_call("murandSetStream", [&] {
    if (!alive(generator))
      return MURAND_STATUS_NOT_INITIALIZED;
    generator->stream = stream;
    return MURAND_STATUS_SUCCESS;
  });
}

murandStatus_t murandSetPseudoRandomGeneratorSeed(
    murandGenerator_t generator,
    unsigned long long seed) {
  return api_call("murandSetPseudoRandomGeneratorSeed", [&] {
    if (!alive(generator))
      return MURAND_STATUS_NOT_INITIALIZED;
    generator->seed = seed;
    generator->position = generator->offset;
    return MURAND_STATUS_SUCCESS;
  });
}

murandStatus_t murandSetGeneratorOffset(
    murandGenerator_t generator,
    unsigned long long offset) {
  return api_call("murandSetGeneratorOffset", [&] {
    if (!alive(generator))
      return MURAND_STATUS_NOT_INITIALIZED;
    generator->offset = offset;
    generator->position = offset;
    return MURAND_STATUS_SUCCESS;
  });
}

murandStatus_t murandSetGeneratorOrdering(
    murandGenerator_t generator,
    murandOrdering_t order) {
  return api_call("murandSetGeneratorOrdering", [&] {
    if (!alive(generator))
      return MURAND_STATUS_NOT_INITIALIZED;
    // Philox has one order, whatever the name.
    if (order >= MURAND_ORDERING_PSEUDO_BEST &&
        order <= MURAND_ORDERING_PSEUDO_LEGACY)
      return MURAND_STATUS_SUCCESS;
    return order == MURAND_ORDERING_QUASI_DEFAULT ? MURAND_STATUS_TYPE_ERROR
                                                  : MURAND_STATUS_OUT_OF_RANGE;
  });
}

murandStatus_t murandSetQuasiRandomGeneratorDimensions(
    murandGenerator_t generator,
    unsigned int /*dimensions*/) {
  return api_call("murandSetQuasiRandomGeneratorDimensions", [&] {
    return alive(generator) ? MURAND_STATUS_TYPE_ERROR
                            : MURAND_STATUS_NOT_INITIALIZED;
  });
}

murandStatus_t murandGenerateSeeds(murandGenerator_t generator) {
  return api_call("murandGenerateSeeds", [&] {
    // Philox's state is its counter: there is nothing to prepare.
    return alive(generator) ? MURAND_STATUS_SUCCESS
                            : MURAND_STATUS_NOT_INITIALIZED;
  });
}

murandStatus_t
murandGenerate(murandGenerator_t generator, unsigned int* out, size_t n) {
  constexpr Kind kKind = {"murandGenerate", engine::Distribution::kWords, 1, 1};
  return generate(kKind, generator, out, n);
}

// The vendor's Philox has no 64-bit output.
murandStatus_t murandGenerateLongLong(
    murandGenerator_t generator,
    unsigned long long* /*out*/,
    size_t /*n*/) {
  return api_call("murandGenerateLongLong", [&] {
    return alive(generator) ? MURAND_STATUS_TYPE_ERROR
                            : MURAND_STATUS_NOT_INITIALIZED;
  });
}

murandStatus_t
murandGenerateUniform(murandGenerator_t generator, float* out, size_t n) {
  constexpr Kind kKind =
      {"murandGenerateUniform", engine::Distribution::kUniform, 1, 1};
  return generate(kKind, generator, out, n);
}

murandStatus_t murandGenerateUniformDouble(
    murandGenerator_t generator,
    double* out,
    size_t n) {
  constexpr Kind kKind = {
      "murandGenerateUniformDouble",
      engine::Distribution::kUniformDouble,
      2,
      1};
  return generate(kKind, generator, out, n);
}

murandStatus_t murandGenerateNormal(
    murandGenerator_t generator,
    float* out,
    size_t n,
    float mean,
    float stddev) {
  constexpr Kind kKind =
      {"murandGenerateNormal", engine::Distribution::kNormal, 1, 2};
  return generate(kKind, generator, out, n, mean, stddev);
}

murandStatus_t murandGenerateNormalDouble(
    murandGenerator_t generator,
    double* out,
    size_t n,
    double mean,
    double stddev) {
  constexpr Kind kKind =
      {"murandGenerateNormalDouble", engine::Distribution::kNormalDouble, 2, 2};
  return generate(kKind, generator, out, n, mean, stddev);
}
