// SPDX-License-Identifier: Apache-2.0
// One muRAND generator per thread and device.
#include "csrc/rng/murand.h"

#include "csrc/rng/capture.h"
#include "csrc/runtime/device_table.h"
#include "csrc/runtime/memcpy.h"
#include "csrc/runtime/stream.h"

#include <array>
#include <mutex>
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

// Generators of threads that ended, for the next ones. Never destroyed: that
// would come after the runtime's end for the last threads.
struct Spare {
  std::mutex mutex;
  std::array<std::vector<murandGenerator_t>, runtime::kMaxDevices> free;
};

Spare& spare() {
  static auto* const instance = new Spare();
  return *instance;
}

murandGenerator_t take(c10::DeviceIndex device) {
  Spare& shared = spare();
  {
    const std::lock_guard<std::mutex> lock(shared.mutex);
    std::vector<murandGenerator_t>& free =
        shared.free[runtime::table_place(device)];
    if (!free.empty()) {
      murandGenerator_t generator = free.back();
      free.pop_back();
      return generator;
    }
  }
  runtime::set_device(device);
  murandGenerator_t generator = nullptr;
  check(
      murandCreateGenerator(&generator, MURAND_RNG_PSEUDO_PHILOX4_32_10),
      "murandCreateGenerator");
  runtime::mark_used(device);
  return generator;
}

// A thread's generators, handed on when it ends.
class Generators {
 public:
  Generators() = default;
  Generators(const Generators&) = delete;
  Generators& operator=(const Generators&) = delete;
  Generators(Generators&&) = delete;
  Generators& operator=(Generators&&) = delete;
  ~Generators() {
    Spare& shared = spare();
    const std::lock_guard<std::mutex> lock(shared.mutex);
    for (size_t device = 0; device < all_.size(); ++device) {
      if (all_[device] != nullptr) {
        shared.free[device].push_back(all_[device]);
      }
    }
  }

  murandGenerator_t get(c10::DeviceIndex device) {
    if (all_.empty()) {
      all_.resize(runtime::kMaxDevices);
    }
    murandGenerator_t& generator = all_[runtime::table_place(device)];
    if (generator == nullptr) {
      generator = take(device);
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

void draw(
    const std::optional<at::Generator>& generator,
    uint64_t count,
    void* out,
    size_t bytes,
    const Make& make) {
  CapturedDraws* draws = current_draws();
  if (C10_LIKELY(draws == nullptr)) {
    make(murand(reserve(generator, count)), out);
    return;
  }
  const void* drawn = draw_outside(
      *draws,
      chosen_generator(generator),
      count,
      bytes,
      [make](void* memory, const Philox& place) {
        make(murand(place), memory);
      });
  const runtime::Stream stream = runtime::current_stream();
  const c10::Device device(c10::DeviceType::PrivateUse1, stream.device());
  runtime::copy_async(out, device, drawn, device, bytes, stream);
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
