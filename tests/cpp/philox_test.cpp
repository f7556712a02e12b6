// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10 of the device kernels, as the host's compiler sees it: the
// known answers that its authors published, and how sequences are counted.
#define __host__
#define __device__
#include "csrc/kernels/philox.h"
#undef __host__
#undef __device__

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace torch_fl::kernels {
namespace {

using Words = std::array<uint32_t, 4>;

// Counter and key as words, the lowest first.
Words philox(const Words& counter, const std::array<uint32_t, 2>& key) {
  const auto join = [](uint32_t low, uint32_t high) {
    return static_cast<uint64_t>(high) << 32 | low;
  };
  const PhiloxBlock block = philox_block(
      join(key[0], key[1]),
      join(counter[0], counter[1]),
      join(counter[2], counter[3]));
  return {block.word[0], block.word[1], block.word[2], block.word[3]};
}

TEST(philox, known_answers) {
  const Words of_zeros = {0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8};
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), of_zeros);
  const uint32_t ones = 0xFFFFFFFF;
  const Words of_ones = {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD};
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}), of_ones);
  const Words of_pi = {0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1};
  EXPECT_EQ(
      philox(
          {0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344},
          {0xA4093822, 0x299F31D0}),
      of_pi);
}

TEST(philox, a_place_in_memory_is_added_to) {
  const std::array<uint64_t, 2> words = {7, 40};
  const PhiloxPlace by_address{0, 3, words.data()};
  const PhiloxPlace place = by_address.resolved();
  EXPECT_EQ(place.key, uint64_t{7});
  EXPECT_EQ(place.counter, uint64_t{13});
  const PhiloxPlace by_value{7, 13, nullptr};
  EXPECT_EQ(place.block(5).pair(1), by_value.resolved().block(5).pair(1));
}

TEST(philox, an_element_has_a_sequence_of_its_own) {
  const PhiloxPlace place{99, 1000, nullptr};
  std::set<uint64_t> seen;
  for (int64_t element = 0; element < 8; ++element) {
    PhiloxStream stream(place, element);
    for (int i = 0; i < 100; ++i) {
      seen.insert(stream.next());
    }
    seen.insert(place.block(element).pair(0));
  }
  EXPECT_EQ(seen.size(), size_t{808});
}

} // namespace
} // namespace torch_fl::kernels
