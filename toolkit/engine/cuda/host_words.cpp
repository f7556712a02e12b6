// SPDX-License-Identifier: Apache-2.0
// The words, and who has them.
#include "toolkit/engine/cuda/host_words.h"

#include "toolkit/engine/cuda/check.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace musa_standin::engine::cuda {
namespace {

// CUDA's queues hold fewer.
constexpr size_t kWords = size_t{1} << 15;

using Lock = std::lock_guard<std::mutex>;

} // namespace

void HostWords::open() {
  void* memory = nullptr;
  check(cudaHostAlloc(
      &memory,
      kWords * sizeof(uint32_t),
      cudaHostAllocPortable | cudaHostAllocMapped));
  std::memset(memory, 0, kWords * sizeof(uint32_t));
  const Lock lock(mutex_);
  words_ = static_cast<uint32_t*>(memory);
  if (last_ == nullptr) {
    last_ = std::make_unique<uint32_t[]>(kWords);
  } else {
    std::for_each_n(last_.get(), kWords, [](uint32_t& value) { ++value; });
  }
  free_.resize(kWords);
  std::iota(free_.rbegin(), free_.rend(), 0U);
}

void HostWords::close() {
  const Lock lock(mutex_);
  words_ = nullptr;
  free_.clear();
}

HostWord HostWords::take() {
  const Lock lock(mutex_);
  if (free_.empty()) {
    throw Error(
        musaErrorLaunchOutOfResources,
        "too many host functions wait for their turn");
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  return {index, ++last_[index]};
}

bool HostWords::holds(HostWord word) {
  const Lock lock(mutex_);
  return is_held(word);
}

// Under the lock, so that the memory does not go amid the write.
void HostWords::write(HostWord word) {
  const Lock lock(mutex_);
  if (is_held(word)) {
    __atomic_store_n(words_ + word.index, word.value, __ATOMIC_RELEASE);
    free_.push_back(word.index);
  }
}

void HostWords::give_back(HostWord word) {
  const Lock lock(mutex_);
  if (is_held(word)) {
    free_.push_back(word.index);
  }
}

} // namespace musa_standin::engine::cuda
