// SPDX-License-Identifier: Apache-2.0
// muRAND generators: one per thread and device, on the current stream.
#pragma once

#include "csrc/rng/generator.h"

#include <c10/util/Exception.h>

#include <murand.h>

#include <cstddef>
#include <functional>
#include <optional>

namespace torch_fl::rng {

// The calling thread's generator of the current device, on its current stream,
// standing at the reserved place. Valid until the next call in this thread.
FL_API murandGenerator_t murand(const Philox& philox);

// Fills memory of the current device from `count` numbers of a generator:
// `make` calls one function of muRAND. While the current stream is captured,
// make is called before each replay instead, and `out` gets copies.
using Make = std::function<void(murandGenerator_t generator, void* out)>;
FL_API void draw(
    const std::optional<at::Generator>& generator,
    uint64_t count,
    void* out,
    size_t bytes,
    const Make& make);

// Throws with the expression, the status' name and number.
[[noreturn]] FL_API void raise_murand(
    murandStatus_t status,
    const char* expression);

// Checks a muRAND call: check(murandGenerate(...), "murandGenerate").
inline void check(murandStatus_t status, const char* expression) {
  if (C10_UNLIKELY(status != MURAND_STATUS_SUCCESS)) {
    raise_murand(status, expression);
  }
}

} // namespace torch_fl::rng
