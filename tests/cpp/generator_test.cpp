// SPDX-License-Identifier: Apache-2.0
// Generators: seeds, offsets, state.
#include "csrc/rng/generator.h"

#include <gtest/gtest.h>

namespace torch_fl::rng {
namespace {

TEST(generator, reserve_advances_by_whole_counters) {
  at::Generator generator = make_generator(0);
  generator.set_current_seed(42);
  auto* impl = generator.get<GeneratorImpl>();
  EXPECT_EQ(impl->reserve(5).offset, uint64_t{0});
  EXPECT_EQ(impl->reserve(4).offset, uint64_t{8});
  EXPECT_EQ(impl->reserve(0).offset, uint64_t{12});
  EXPECT_EQ(generator.get_offset(), uint64_t{12});
  EXPECT_EQ(generator.current_seed(), uint64_t{42});
}

TEST(generator, seeding_restarts_the_sequence) {
  at::Generator generator = make_generator(0);
  generator.get<GeneratorImpl>()->reserve(100);
  generator.set_current_seed(7);
  EXPECT_EQ(generator.get_offset(), uint64_t{0});
  EXPECT_NE(generator.seed(), generator.seed());
}

TEST(generator, state_goes_round_in_sixteen_bytes) {
  auto a = c10::make_intrusive<GeneratorImpl>(c10::DeviceIndex{0});
  a->set_current_seed(~uint64_t{5});
  a->set_offset(1 << 20);
  const auto state = a->get_state();
  EXPECT_EQ(state->numel(), 16);
  auto b = c10::make_intrusive<GeneratorImpl>(c10::DeviceIndex{0});
  b->set_state(*state);
  EXPECT_EQ(b->current_seed(), ~uint64_t{5});
  EXPECT_EQ(b->get_offset(), uint64_t{1 << 20});
  EXPECT_THROW(b->set_offset(3), c10::Error);
}

TEST(generator, clone_goes_its_own_way) {
  at::Generator a = make_generator(0);
  a.set_current_seed(3);
  at::Generator b = a.clone();
  b.get<GeneratorImpl>()->reserve(4);
  EXPECT_EQ(a.get_offset(), uint64_t{0});
  EXPECT_EQ(b.get_offset(), uint64_t{4});
}

TEST(generator, default_one_is_the_same_object_each_time) {
  EXPECT_EQ(default_generator(0), default_generator(-1));
  manual_seed_all(99);
  EXPECT_EQ(default_generator(0).current_seed(), uint64_t{99});
  EXPECT_EQ(reserve(std::nullopt, 8).seed, uint64_t{99});
}

} // namespace
} // namespace torch_fl::rng
