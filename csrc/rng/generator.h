// SPDX-License-Identifier: Apache-2.0
// The generator: a Philox seed and offset per device.
#pragma once

#include "csrc/runtime/export.h"

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <cstdint>
#include <optional>

namespace torch_fl::rng {

// What a kernel draws from: the counter stands at `offset` of sequence `seed`.
struct Philox {
  uint64_t seed = 0;
  uint64_t offset = 0;
  // In a captured graph: seed and offset stand here on the device, and `offset`
  // is added to theirs.
  uint64_t* words = nullptr;
};

// A Philox counter yields four numbers at a time.
constexpr uint64_t kNumbersPerCounter = 4;
constexpr uint64_t whole_counters(uint64_t count) {
  const uint64_t rest = count % kNumbersPerCounter;
  return rest == 0 ? count : count - rest + kNumbersPerCounter;
}

// State: 16 bytes, the seed (uint64) and the offset (int64), as DTensor reads.
// Callers hold mutex_ around everything but clone.
class FL_API GeneratorImpl final : public c10::GeneratorImpl {
 public:
  explicit GeneratorImpl(
      c10::DeviceIndex device,
      uint64_t seed = c10::default_rng_seed_val);
  ~GeneratorImpl() override = default;

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override;
  uint64_t seed() override;
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  static c10::DeviceType device_type() { return c10::DeviceType::PrivateUse1; }

  // Takes `count` numbers (rounded up to 4): returns where they begin.
  Philox reserve(uint64_t count);

 private:
  GeneratorImpl* clone_impl() const override;

  Philox philox_;
};

// A device's default generator (-1: of the current device).
FL_API const at::Generator& default_generator(c10::DeviceIndex device = -1);
FL_API at::Generator make_generator(c10::DeviceIndex device = -1);

// The given or the current device's default generator. Throws if it is of
// another device than the current one.
FL_API const at::Generator& chosen_generator(
    const std::optional<at::Generator>& generator);

// Reserves `count` numbers of that generator, under its mutex. While the
// current stream is captured they stand in Philox::words.
FL_API Philox
reserve(const std::optional<at::Generator>& generator, uint64_t count);

// Seeds the default generators of all devices, now or when they first exist.
FL_API void manual_seed_all(uint64_t seed);

} // namespace torch_fl::rng
