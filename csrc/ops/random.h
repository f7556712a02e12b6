// SPDX-License-Identifier: Apache-2.0
// What the random families share.
#pragma once

#include "csrc/kernels/distribution.h"
#include "csrc/rng/generator.h"

#include <ATen/core/Tensor.h>

#include <optional>

namespace torch_fl::ops {

// A flagos generator alone brings a call for a CPU tensor here.
inline void check_place(const at::Tensor& self) {
  TORCH_CHECK(
      self.device().is_privateuseone(),
      "Expected a '",
      self.device().type(),
      "' device type for generator but found '",
      c10::DeviceType::PrivateUse1,
      "'");
}

// The next `words` of a generator's sequence, as our kernels take them.
inline FlSequence reserve_words(
    const std::optional<at::Generator>& generator,
    uint64_t words) {
  const rng::Philox place = rng::reserve(generator, words);
  return {place.seed, place.offset, place.words};
}

} // namespace torch_fl::ops
