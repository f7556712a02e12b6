// SPDX-License-Identifier: Apache-2.0
// One muRAND generator per thread and device.
#include "csrc/rng/murand.h"

#include "csrc/runtime/stream.h"

#include <vector>

namespace torch_fl::rng {
namespace {

const char* name_of(murandStatus_t status) {
  switch (status) {
  case MURAND_STATUS_SUCCESS:
    return "SUCCESS";
  case MURAND_STATUS_NOT_INITIALIZED:
    return "NOT_INITIALIZED";
  case MURAND_STATUS_ALLOCATION_FAILED:
    return "ALLOCATION_FAILED";
  case MURAND_STATUS_TYPE_ERROR:
    return "TYPE_ERROR";
  case MURAND_STATUS_OUT_OF_RANGE:
    return "OUT_OF_RANGE";
  case MURAND_STATUS_LENGTH_NOT_MULTIPLE:
    return "LENGTH_NOT_MULTIPLE";
  case MURAND_STATUS_LAUNCH_FAILURE:
    return "LAUNCH_FAILURE";
  case MURAND_STATUS_PREEXISTING_FAILURE:
    return "PREEXISTING_FAILURE";
  case MURAND_STATUS_ARCH_MISMATCH:
    return "ARCH_MISMATCH";
  case MURAND_STATUS_NOT_IMPLEMENTED:
    return "NOT_IMPLEMENTED";
  default:
    return "unknown status";
  }
}

// A thread's generators. The destructor runs as the thread ends and may meet a
// runtime that is already down, so it reports nothing.
class Generators {
 public:
  Generators() = default;
  Generators(const Generators&) = delete;
  Generators& operator=(const Generators&) = delete;
  Generators(Generators&&) = delete;
  Generators& operator=(Generators&&) = delete;
  ~Generators() {
    for (murandGenerator_t generator : all_) {
      if (generator != nullptr) {
        static_cast<void>(murandDestroyGenerator(generator));
      }
    }
  }

  murandGenerator_t get(c10::DeviceIndex device) {
    if (all_.empty()) {
      all_.resize(runtime::kMaxDevices);
    }
    murandGenerator_t& generator = all_[static_cast<size_t>(device)];
    if (generator == nullptr) {
      check(
          murandCreateGenerator(&generator, MURAND_RNG_PSEUDO_PHILOX4_32_10),
          "murandCreateGenerator");
      runtime::mark_used(device);
    }
    return generator;
  }

 private:
  // Not an array: thread-local memory of a library is scarce.
  std::vector<murandGenerator_t> all_;
};

} // namespace

murandGenerator_t murand(const Philox& philox) {
  static thread_local Generators generators;
  const runtime::Stream stream = runtime::current_stream();
  murandGenerator_t generator = generators.get(stream.device());
  check(murandSetStream(generator, stream.handle()), "murandSetStream");
  check(
      murandSetPseudoRandomGeneratorSeed(generator, philox.seed),
      "murandSetPseudoRandomGeneratorSeed");
  check(
      murandSetGeneratorOffset(generator, philox.offset),
      "murandSetGeneratorOffset");
  return generator;
}

void raise_murand(murandStatus_t status, const char* expression) {
  TORCH_CHECK(
      false,
      expression,
      " failed on flagos:",
      static_cast<int>(runtime::current_device()),
      ": MURAND_STATUS_",
      name_of(status),
      " (",
      static_cast<int>(status),
      ").");
}

} // namespace torch_fl::rng
