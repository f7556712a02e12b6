// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10 (Salmon et al. 2011): words of a sequence by their number.
#pragma once

#include <cstdint>

namespace torch_fl::kernels {

struct PhiloxBlock {
  uint32_t word[4];

  __host__ __device__ uint64_t pair(int i) const {
    return static_cast<uint64_t>(word[2 * i + 1]) << 32 | word[2 * i];
  }
};

// The block of a 128-bit counter {low, high} under a key. Word i of a sequence
// is word i % 4 of counter {i / 4, 0}, as muRAND counts; other high halves are
// sequences of their own.
__host__ __device__ inline PhiloxBlock
philox_block(uint64_t key, uint64_t low, uint64_t high) {
  constexpr uint32_t kMultiplier0 = 0xD2511F53U;
  constexpr uint32_t kMultiplier1 = 0xCD9E8D57U;
  constexpr uint32_t kWeyl0 = 0x9E3779B9U;
  constexpr uint32_t kWeyl1 = 0xBB67AE85U;
  constexpr int kRounds = 10;
  auto c0 = static_cast<uint32_t>(low);
  auto c1 = static_cast<uint32_t>(low >> 32);
  auto c2 = static_cast<uint32_t>(high);
  auto c3 = static_cast<uint32_t>(high >> 32);
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(kMultiplier0) * c0;
    const uint64_t p1 = static_cast<uint64_t>(kMultiplier1) * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

// Where a call's numbers begin: `offset` counts words and is added to the one
// that stands behind `words`, if that is given (a captured graph).
struct PhiloxPlace {
  uint64_t key;
  uint64_t counter;
  const uint64_t* words;

  __host__ __device__ PhiloxPlace resolved() const {
    if (words == nullptr) {
      return *this;
    }
    return {words[0], (words[1] + 3) / 4 + counter, nullptr};
  }
  __host__ __device__ PhiloxBlock block(int64_t i) const {
    return philox_block(key, counter + static_cast<uint64_t>(i), 0);
  }
};

// As many words as one element may need: block after block of the sequences
// that belong to one counter alone.
class PhiloxStream {
 public:
  __host__ __device__ PhiloxStream(const PhiloxPlace& place, int64_t i)
      : key_(place.key), counter_(place.counter + static_cast<uint64_t>(i)) {}

  __host__ __device__ uint64_t next() {
    if (left_ == 0) {
      ++high_;
      block_ = philox_block(key_, counter_, high_);
      left_ = 2;
    }
    --left_;
    return block_.pair(left_);
  }

 private:
  uint64_t key_;
  uint64_t counter_;
  uint64_t high_ = 0;
  int left_ = 0;
  PhiloxBlock block_{};
};

} // namespace torch_fl::kernels
