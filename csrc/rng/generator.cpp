// SPDX-License-Identifier: Apache-2.0
// Seeds, offsets and the default generators.
#include "csrc/rng/generator.h"

#include "csrc/rng/capture.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/device_table.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <array>
#include <cstring>
#include <limits>
#include <mutex>

namespace torch_fl::rng {
namespace {

constexpr size_t kStateBytes = sizeof(uint64_t) + sizeof(int64_t);

struct Defaults {
  std::mutex mutex;
  std::array<at::Generator, runtime::kMaxDevices> generators;
  // What manual_seed_all said before a generator existed.
  uint64_t seed = c10::default_rng_seed_val;
};

// Never destroyed: generators may be asked for as late as the exit.
Defaults& defaults() {
  static auto* const instance = new Defaults();
  return *instance;
}

c10::intrusive_ptr<c10::TensorImpl> make_state_tensor() {
  c10::Allocator* allocator = c10::GetCPUAllocator();
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(),
      kStateBytes,
      allocator->allocate(kStateBytes),
      allocator,
      /*resizable=*/false);
  auto result = c10::make_intrusive<c10::TensorImpl>(
      c10::Storage(std::move(storage)),
      c10::DispatchKeySet(c10::DispatchKey::CPU),
      caffe2::TypeMeta::Make<uint8_t>());
  result->set_sizes_contiguous({static_cast<int64_t>(kStateBytes)});
  return result;
}

} // namespace

GeneratorImpl::GeneratorImpl(c10::DeviceIndex device, uint64_t seed)
    : c10::GeneratorImpl(
          c10::Device(c10::DeviceType::PrivateUse1, device),
          c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
      philox_{seed, 0, nullptr} {}

void GeneratorImpl::set_current_seed(uint64_t seed) {
  forbid_seeding();
  philox_ = {seed, 0, nullptr};
}

uint64_t GeneratorImpl::current_seed() const {
  return philox_.seed;
}

uint64_t GeneratorImpl::seed() {
  set_current_seed(c10::detail::getNonDeterministicRandom(/*is_cuda=*/true));
  return philox_.seed;
}

void GeneratorImpl::set_offset(uint64_t offset) {
  forbid_seeding();
  TORCH_CHECK_VALUE(
      offset % kNumbersPerCounter == 0,
      "a generator's offset is a multiple of ",
      kNumbersPerCounter,
      ", got ",
      offset,
      ".");
  philox_.offset = offset;
}

uint64_t GeneratorImpl::get_offset() const {
  return philox_.offset;
}

void GeneratorImpl::set_state(const c10::TensorImpl& state) {
  at::detail::check_rng_state(state);
  const int64_t bytes = state.numel();
  // Without an offset, as torch.cuda also accepts.
  TORCH_CHECK_VALUE(
      bytes == static_cast<int64_t>(kStateBytes) ||
          bytes == static_cast<int64_t>(sizeof(uint64_t)),
      "the state of a flagos generator has ",
      kStateBytes,
      " bytes, got ",
      bytes,
      ".");
  const auto* data = static_cast<const char*>(state.data());
  uint64_t seed = 0;
  int64_t offset = 0;
  std::memcpy(&seed, data, sizeof(seed));
  if (bytes == static_cast<int64_t>(kStateBytes)) {
    std::memcpy(&offset, data + sizeof(seed), sizeof(offset));
  }
  TORCH_CHECK_VALUE(
      offset >= 0,
      "a generator's offset is not negative, got ",
      offset,
      ".");
  set_offset(static_cast<uint64_t>(offset));
  philox_.seed = seed;
}

c10::intrusive_ptr<c10::TensorImpl> GeneratorImpl::get_state() const {
  auto state = make_state_tensor();
  auto* data = static_cast<char*>(state->mutable_data());
  const auto offset = static_cast<int64_t>(philox_.offset);
  std::memcpy(data, &philox_.seed, sizeof(philox_.seed));
  std::memcpy(data + sizeof(philox_.seed), &offset, sizeof(offset));
  return state;
}

Philox GeneratorImpl::reserve(uint64_t count) {
  const Philox result = philox_;
  philox_.offset += whole_counters(count);
  return result;
}

GeneratorImpl* GeneratorImpl::clone_impl() const {
  auto* copy = new GeneratorImpl(device().index());
  copy->philox_ = philox_;
  return copy;
}

const at::Generator& default_generator(c10::DeviceIndex device) {
  const c10::DeviceIndex index = runtime::checked_index(device);
  Defaults& all = defaults();
  const std::lock_guard<std::mutex> lock(all.mutex);
  at::Generator& generator = all.generators[runtime::table_place(index)];
  if (!generator.defined()) {
    generator = at::make_generator<GeneratorImpl>(index, all.seed);
  }
  return generator;
}

at::Generator make_generator(c10::DeviceIndex device) {
  return at::make_generator<GeneratorImpl>(runtime::checked_index(device));
}

const at::Generator& chosen_generator(
    const std::optional<at::Generator>& generator) {
  const at::Generator& chosen = generator.has_value() && generator->defined()
      ? *generator
      : default_generator();
  const auto* impl = at::check_generator<GeneratorImpl>(chosen);
  TORCH_CHECK_VALUE(
      impl->device().index() == runtime::current_device(),
      "a generator of ",
      impl->device(),
      " cannot serve a tensor on flagos:",
      static_cast<int>(runtime::current_device()),
      ".");
  return chosen;
}

Philox reserve(const std::optional<at::Generator>& generator, uint64_t count) {
  const at::Generator& chosen = chosen_generator(generator);
  if (CapturedDraws* draws = current_draws()) {
    return reserve_captured(*draws, chosen, count);
  }
  auto* impl = at::check_generator<GeneratorImpl>(chosen);
  const std::lock_guard<std::mutex> lock(impl->mutex_);
  return impl->reserve(count);
}

void manual_seed_all(uint64_t seed) {
  Defaults& all = defaults();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.seed = seed;
  for (at::Generator& generator : all.generators) {
    if (generator.defined()) {
      const std::lock_guard<std::mutex> inner(generator.mutex());
      generator.set_current_seed(seed);
    }
  }
}

} // namespace torch_fl::rng
